package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

const (
	// requestTimeout bounds each request, but for writes to an etcd in this process: without a quorum reads and writes fail after it,
	// and a client hears so within 5 s.
	requestTimeout = 4500 * time.Millisecond

	// awaitPause is how long Await waits between its attempts.
	awaitPause = 200 * time.Millisecond

	// pageKeys is how many keys one request of an unlimited List asks for: kube-apiserver's figure. One request for
	// everything would hold up etcd and must fit into one gRPC message of 2 GiB.
	pageKeys = 10_000

	// bookkeepingKey is outside of every user's prefix. The compactor keeps its marks there, and reads without a key of
	// their own ask for it.
	bookkeepingKey = "revtail/compactor"
)

// Etcd is a Store in an etcd or a cluster of them. Close it after use.
type Etcd struct {
	Writes

	client    *clientv3.Client // connections, balancing, logging in
	kv        pb.KVClient      // retries reads
	watch     pb.WatchClient
	lease     pb.LeaseClient
	endpoints []string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	cluster     atomic.Uint64 // the id in the last answer
	compactions compactions

	mu      sync.Mutex // guards the fields below
	closed  bool
	watches sync.WaitGroup // the goroutines of the open watches; Add only while not closed
}

var _ Store = (*Etcd)(nil)

// Open prepares the connection and returns at once, whether or not there is an etcd: see Await.
func Open(cfg Config) (*Etcd, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("etcdstore: Config.Endpoints is required")
	}
	if (cfg.Username == "") != (cfg.Password == nil) {
		return nil, errors.New("etcdstore: Config.Username and Config.Password go together")
	}
	if (cfg.KV == nil) != (cfg.Watch == nil) || cfg.KV != nil && cfg.Username != "" {
		return nil, errors.New("etcdstore: Config.KV and Config.Watch go together, and without Config.Username")
	}
	client, err := clientv3.New(clientConfig(cfg))
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	client.Token = ""
	if cfg.Username != "" {
		client.Username, client.Password = cfg.Username, askedFor
	}
	e := &Etcd{
		client:    client,
		kv:        clientv3.RetryKVClient(client),
		watch:     pb.NewWatchClient(client.ActiveConnection()),
		lease:     clientv3.RetryLeaseClient(client),
		endpoints: cfg.Endpoints,
	}
	e.Writes = NewWrites(e.transact)
	e.ctx, e.cancel = context.WithCancel(client.Ctx())
	if cfg.KV != nil {
		e.kv, e.watch = newDirect(e.ctx, cfg), cfg.Watch
	}
	return e, nil
}

// Close ends the watches with ErrClosed, waits for their goroutines and closes the connections.
func (e *Etcd) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.watches.Wait()
	if err := e.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcdstore: %w", err)
	}
	return nil
}

// Await waits until etcd answers a linearizable read. It gives up when ctx ends, with an error that wraps ctx.Err() and
// names the endpoints and the last cause, and at once when etcd refuses the credentials (ErrDenied) or after Close.
func (e *Etcd) Await(ctx context.Context) error {
	var last error
	for {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		_, err := e.Revision(attempt)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrDenied), errors.Is(err, ErrClosed):
			return err
		case ctx.Err() == nil || last == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w (last: %w)", ErrUnavailable, strings.Join(e.endpoints, ", "), ctx.Err(), last)
		case <-time.After(awaitPause):
		}
	}
}

// requireLeader is what a request carries to be refused by a member that sees no leader.
var requireLeader = metadata.Pairs(rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader)

// bound is the context of one request: the caller's, ended by Close too, with a deadline of our own, and refused by members
// that see no leader. Without that such a member would keep the request until its own time limit.
func (e *Etcd) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := limited(ctx)
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// boundOnce is bound for a request that is sent but once: Close ends it with the connection. One to an etcd in this process goes on
// until that answers, which has a limit of its own (7 s), and no members that could see no leader.
func (e *Etcd) boundOnce(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, direct := e.kv.(*direct); direct {
		return ctx, func() {}
	}
	return limited(ctx)
}

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(metadata.NewOutgoingContext(ctx, requireLeader), requestTimeout)
}

// toError is the function of the same name, but for what Close did.
func (e *Etcd) toError(ctx context.Context, err error, at Revision, sent bool) error {
	if e.ctx.Err() != nil && ctx.Err() == nil && !sent {
		return fmt.Errorf("etcd: %w", ErrClosed)
	}
	return toError(ctx, err, at, sent)
}
