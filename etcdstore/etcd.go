package etcdstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
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

// Config says how to reach etcd.
type Config struct {
	Endpoints []string // at least one; URLs or host:port. With several, requests go round and failures to the next

	// TLS is asked how to talk TLS at each new connection; nil: only what the endpoints' https:// asks for.
	TLS func() *tls.Config

	// Username logs in to etcd's own authentication, with what Password says at each login; both or neither. The user needs to
	// read and write the prefixes that are served and revtail/.
	Username string
	Password func() string

	// KV and Watch, of an etcd in this process, are used instead of a connection, over which all else goes; both or neither.
	// They know no user.
	KV    pb.KVClient
	Watch pb.WatchClient

	Logger  *slog.Logger // what the client has to say; nil: nothing
	Observe Observer     // nil: nobody wants to know

	Tracing trace.TracerProvider // gets a span of each request that is made for one that is traced; nil: none
}

// Etcd is a Store in an etcd, or a cluster of them. Close it after use.
type Etcd struct {
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
	e.ctx, e.cancel = context.WithCancel(client.Ctx())
	if cfg.KV != nil {
		e.kv, e.watch = newDirect(e.ctx, cfg), cfg.Watch
	}
	return e, nil
}

func clientConfig(cfg Config) clientv3.Config {
	c := clientv3.Config{
		Endpoints:            cfg.Endpoints,
		DialTimeout:          requestTimeout, // only of logging in
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		// Pings without a request under way are what etcd takes for abuse.
		PermitWithoutStream: false,
		Logger:              clientLogger(cfg.Logger),
		DialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithChainUnaryInterceptor(sendOnce, cfg.Observe.intercept),
			// gRPC's own 20 s and 120 s would have an etcd that is back wait for minutes.
			grpc.WithConnectParams(grpc.ConnectParams{
				MinConnectTimeout: 3 * time.Second,
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			}),
		},
	}
	if cfg.Tracing != nil {
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(traced(cfg.Tracing)))
	}
	if cfg.TLS != nil {
		c.DialOptions = append(c.DialOptions, grpc.WithTransportCredentials(newFreshTLS(cfg.TLS)))
	}
	if cfg.Username != "" {
		// With a user in its configuration the client would log in before New returns, and fail without an etcd. With a
		// token, here not a valid one, it does not; when etcd refuses that, the client logs in, as with one that is too old.
		c.Token = "none yet"
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(login(cfg.Password)))
	}
	return c
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

// Get implements Store.
func (e *Etcd) Get(ctx context.Context, key string) (KV, Revision, error) {
	if err := checkKey(key); err != nil {
		return KV{}, 0, err
	}
	resp, err := e.read(ctx, &pb.RangeRequest{Key: []byte(key)})
	if err != nil {
		return KV{}, 0, fmt.Errorf("get %q: %w", key, err)
	}
	rev := Revision(resp.Header.Revision)
	if len(resp.Kvs) == 0 {
		return KV{}, rev, fmt.Errorf("get %q: %w", key, ErrNotFound)
	}
	return toKV(resp.Kvs[0]), rev, nil
}

// Revision implements Store.
func (e *Etcd) Revision(ctx context.Context) (Revision, error) {
	resp, err := e.read(ctx, &pb.RangeRequest{Key: []byte(bookkeepingKey), CountOnly: true})
	if err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	return Revision(resp.Header.Revision), nil
}

// History implements Store: it is the id of the cluster.
func (e *Etcd) History() uint64 { return e.cluster.Load() }

// List implements Store.
func (e *Etcd) List(ctx context.Context, prefix string, o ListOptions) (Page, error) {
	if err := checkPrefix(prefix); err != nil {
		return Page{}, err
	}
	if o.At < 0 || o.Limit < 0 {
		return Page{}, fmt.Errorf("%w: At and Limit must not be negative", ErrInvalid)
	}
	if o.Exact && o.After >= prefix {
		return e.nothing(ctx, o.At)
	}
	req := &pb.RangeRequest{
		Key:      []byte(max(prefix, o.After+"\x00")),
		RangeEnd: rangeEnd(prefix, o.Exact),
		Limit:    int64(o.Limit),
		Revision: int64(o.At),
		KeysOnly: o.KeysOnly,
	}
	if o.Limit == 0 {
		req.Limit = pageKeys
	}
	page := Page{Revision: o.At}
	for {
		resp, err := e.read(ctx, req)
		if err != nil {
			return Page{}, fmt.Errorf("list %q: %w", prefix, err)
		}
		if page.Revision == 0 {
			page.Revision = Revision(resp.Header.Revision)
		}
		for _, kv := range resp.Kvs {
			page.KVs = append(page.KVs, toKV(kv))
		}
		if o.Limit != 0 || !resp.More {
			page.Remaining = resp.Count - int64(len(resp.Kvs))
			return page, nil
		}
		// Each request may find etcd later than the one before: the first one's revision holds for all.
		req.Revision = int64(page.Revision)
		req.Key = append(resp.Kvs[len(resp.Kvs)-1].Key, 0)
	}
}

// nothing is a page without keys as of a revision.
func (e *Etcd) nothing(ctx context.Context, at Revision) (Page, error) {
	resp, err := e.read(ctx, &pb.RangeRequest{Key: []byte(bookkeepingKey), CountOnly: true, Revision: int64(at)})
	if err != nil {
		return Page{}, fmt.Errorf("list: %w", err)
	}
	return Page{Revision: cmp.Or(at, Revision(resp.Header.Revision))}, nil
}

// read is a linearizable range read. It is retried until its time is over.
func (e *Etcd) read(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	bound, cancel := e.bound(ctx)
	defer cancel()
	resp, err := e.kv.Range(bound, req)
	if err != nil {
		return nil, e.toError(ctx, err, Revision(req.Revision), false)
	}
	e.cluster.Store(resp.Header.GetClusterId())
	return resp, nil
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

// rangeEnd is where in etcd's order the keys end that begin with prefix; exact: none, of the key alone.
func rangeEnd(prefix string, exact bool) []byte {
	if exact {
		return nil
	}
	return []byte(clientv3.GetPrefixRangeEnd(prefix))
}

func toKV(kv *mvccpb.KeyValue) KV {
	return KV{
		Key:      string(kv.Key),
		Value:    kv.Value,
		Created:  Revision(kv.CreateRevision),
		Modified: Revision(kv.ModRevision),
		Version:  kv.Version,
		Lease:    kv.Lease,
	}
}
