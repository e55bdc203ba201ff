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
	// requestTimeout bounds each request, except writes to an etcd in this process, so that a client gets an error within 5 s if there is
	// no quorum.
	requestTimeout = 4500 * time.Millisecond

	// awaitPause is the time between the attempts of Await.
	awaitPause = 200 * time.Millisecond

	// pageKeys bounds the keys per request of a List without a limit, as in kube-apiserver. A single request would block etcd, and the
	// response would have to fit into one gRPC message of 2 GiB.
	pageKeys = 10_000

	// bookkeepingKey is outside of the prefixes of users. It holds the marks of the compactor; requests for the revision read it.
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

	lineage     lineage
	compactions struct{ done, failed atomic.Uint64 } // of this process

	mu      sync.Mutex // guards the fields below
	closed  bool
	watches sync.WaitGroup // the goroutines of the open watches; Add only while not closed
}

var _ Store = (*Etcd)(nil)

// Open prepares the connection and returns at once, even if etcd is down: see Await.
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
		client.Username, client.Password = cfg.Username, placeholder
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

// Await waits until etcd answers a linearizable read. When ctx ends, the error wraps ctx.Err() and has the endpoints and the last
// cause. Await returns at once if etcd refuses the credentials (ErrDenied) and after Close.
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

// requireLeader is the metadata for which a member without a leader refuses a request.
var requireLeader = metadata.Pairs(rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader)

// bound returns the context of one request. It ends with ctx, after requestTimeout and at Close. It requires a leader, because a member
// without a leader would delay the request until its own timeout.
func (e *Etcd) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := limited(ctx)
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// boundOnce is bound for a write, which is sent once: Close ends it with the connection. A write to an etcd in this process ends with the
// response of etcd, which has a timeout of 7 s and needs no check for a leader.
func (e *Etcd) boundOnce(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, direct := e.kv.(*direct); direct {
		return ctx, func() {}
	}
	return limited(ctx)
}

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(metadata.NewOutgoingContext(ctx, requireLeader), requestTimeout)
}

// toError is the function of the same name, with ErrClosed after Close.
func (e *Etcd) toError(ctx context.Context, err error, at Revision, sent bool) error {
	if e.ctx.Err() != nil && ctx.Err() == nil && !sent {
		return fmt.Errorf("etcd: %w", ErrClosed)
	}
	return toError(ctx, err, at, sent)
}
