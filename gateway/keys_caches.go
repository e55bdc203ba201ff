package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/metrics"
	"revtail/gateway/plain"
	"revtail/gateway/watchcache"
)

const (
	// maxKeyCaches is how many ranges of keys can be watched at the same time: each is one watch of etcd, and in memory with
	// all its values.
	maxKeyCaches = 64
	// keyCacheLinger is how long one stays after its last watch: a client that reconnects finds it.
	keyCacheLinger = time.Minute
)

var errTooManyRanges = &apierrors.StatusError{ErrStatus: *retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many different prefixes and keys are watched at the same time: watch a prefix that holds several of them", 5)}

// keyCaches are the caches behind the watches of the plain dialect: one for each range of keys that is watched, however many
// watch it.
type keyCaches struct {
	store  etcdstore.Store
	logger *slog.Logger
	most   int // maxKeyCaches; fewer in tests

	mu      sync.Mutex      // guards the fields below
	ctx     context.Context // of begin; nil: not running
	open    map[plain.Range]*keyCache
	running sync.WaitGroup // Add only while ctx is not nil
}

// keyCache is one of them. Its fields are guarded by the lock of all.
type keyCache struct {
	*watchcache.Cache
	keys    plain.Range
	watches int
	stop    context.CancelFunc
	linger  *time.Timer // nil: it is used
}

// begin lets caches be opened; run has to be called then.
func (cs *keyCaches) begin(ctx context.Context) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ctx, cs.open = ctx, make(map[plain.Range]*keyCache)
}

// run ends the caches when ctx, which is that of begin, does.
func (cs *keyCaches) run(ctx context.Context) {
	<-ctx.Done()
	cs.mu.Lock()
	cs.ctx = nil
	for _, c := range cs.open {
		cs.dropLocked(c)
	}
	cs.mu.Unlock()
	cs.running.Wait()
}

// acquire returns the cache of a range, which may still have to be filled. The caller calls release.
func (cs *keyCaches) acquire(keys plain.Range) (*keyCache, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ctx == nil {
		return nil, watchcache.ErrStopped
	}
	c := cs.open[keys]
	if c == nil {
		if len(cs.open) >= cs.most && !cs.makeRoomLocked() {
			return nil, errTooManyRanges
		}
		c = cs.openLocked(keys)
	}
	if c.watches++; c.linger != nil {
		c.linger.Stop()
		c.linger = nil
	}
	return c, nil
}

func (cs *keyCaches) openLocked(keys plain.Range) *keyCache {
	ctx, stop := context.WithCancel(cs.ctx)
	c := &keyCache{keys: keys, stop: stop, Cache: watchcache.New(watchcache.Config{
		Store: rangeStore{cs.store, keys},
		Decode: func(kv etcdstore.KV) (encoding.Object, error) {
			return encoding.Object{JSON: encoding.AppendKeyValue(nil, keyOf(kv, false))}, nil
		},
		Logger: cs.logger.With("keys", keys.String()),
		Gap:    eventGap,
	})}
	cs.open[keys] = c
	cs.running.Go(func() { _ = c.Run(ctx) }) // always nil
	return c
}

func (cs *keyCaches) release(c *keyCache) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.watches--; c.watches > 0 || cs.open[c.keys] != c {
		return
	}
	c.linger = time.AfterFunc(keyCacheLinger, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.watches == 0 && cs.open[c.keys] == c {
			cs.dropLocked(c)
		}
	})
}

// makeRoomLocked drops a cache that nobody uses, if there is one.
func (cs *keyCaches) makeRoomLocked() bool {
	for _, c := range cs.open {
		if c.watches == 0 {
			cs.dropLocked(c)
			return true
		}
	}
	return false
}

func (cs *keyCaches) dropLocked(c *keyCache) {
	if c.linger != nil {
		c.linger.Stop()
	}
	c.stop()
	delete(cs.open, c.keys)
}

// figures are those of all of them together, if there are any, for /metrics: what keys are watched is for nobody to see there.
func (cs *keyCaches) figures() []metrics.Cache {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open) == 0 {
		return nil
	}
	sum := metrics.Cache{Resource: "keys", Ready: true}
	for _, c := range cs.open {
		stats := c.Stats()
		sum.Revision = max(sum.Revision, int64(stats.Revision))
		sum.Objects += stats.Objects
		sum.Watchers += stats.Watchers
		sum.Events += stats.Events
		sum.Untrue += stats.Untrue
	}
	return []metrics.Cache{sum}
}

// rangeStore is a store that has nothing but the keys of a range: a cache of it has whole keys for paths.
type rangeStore struct {
	etcdstore.Store
	keys plain.Range
}

// List implements etcdstore.Store.
func (s rangeStore) List(ctx context.Context, _ string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	o.Exact = !s.keys.IsPrefix()
	return s.Store.List(ctx, s.keys.String(), o)
}

// Watch implements etcdstore.Store.
func (s rangeStore) Watch(ctx context.Context, _ string, after etcdstore.Revision) etcdstore.Watcher {
	if s.keys.IsPrefix() {
		return s.Store.Watch(ctx, s.keys.String(), after)
	}
	return s.WatchKey(ctx, s.keys.String(), after)
}
