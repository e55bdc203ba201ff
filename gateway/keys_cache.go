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
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/watchcache"
)

const (
	// maxKeyCaches is how many ranges of keys can be watched at the same time: each is one watch of etcd, some 100 KB, and in
	// memory with all its values.
	maxKeyCaches = 1000
	// maxRangeBytes is how large what is watched in one cache can be, as JSON, and maxRangesBytes how large all of it: where it
	// is more, no other range can be watched.
	maxRangeBytes  = 256 << 20
	maxRangesBytes = 1 << 30
	// keyCacheLinger is how long one stays after its last watch: a client that reconnects finds it. One that there is too much
	// for stays as long, whoever asks, so that it is not read again and again.
	keyCacheLinger = time.Minute
)

var errTooManyRanges = &apierrors.StatusError{ErrStatus: *retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many different prefixes and keys are watched at the same time: watch a prefix that holds several of them", 5)}

// errRangeTooLarge refuses watches of more than a cache may hold.
var errRangeTooLarge = &apierrors.StatusError{ErrStatus: *newStatus(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
	"the keys hold more than 256 MiB, which is more than can be watched at once: watch a part of them, or read them in pages")}

// keyCaches are the caches behind the watches of the plain dialect: one for each range of keys that is watched, or several
// of them, however many watch it.
type keyCaches struct {
	store  etcdstore.Store
	logger *slog.Logger
	most   int // maxKeyCaches; fewer in tests
	// maxRangeBytes and maxRangesBytes; less in tests
	mostBytes, mostOfAll int

	mu      sync.Mutex           // guards the fields below
	ctx     context.Context      // of begin; nil: not running
	open    map[string]*keyCache // by the text of their ranges
	gone    metrics.Happened     // to those that were dropped
	running sync.WaitGroup       // Add only while ctx is not nil
}

// keyCache is one of them. Its fields are guarded by the lock of all.
type keyCache struct {
	*watchcache.Cache
	exceeded <-chan struct{} // closed when there is too much for a cache: it has stopped then

	keys    string // the text of its ranges
	watches int
	stop    context.CancelFunc
	linger  *time.Timer // nil: it is used
}

// tooLarge tells whether there is too much for the cache.
func (c *keyCache) tooLarge() bool {
	select {
	case <-c.exceeded:
		return true
	default:
		return false
	}
}

// begin lets caches be opened; run has to be called then.
func (cs *keyCaches) begin(ctx context.Context) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ctx, cs.open = ctx, make(map[string]*keyCache)
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

// acquire returns the cache of ranges, which may still have to be filled. The caller calls release.
func (cs *keyCaches) acquire(keys keyrange.Ranges) (*keyCache, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ctx == nil {
		return nil, watchcache.ErrStopped
	}
	c := cs.open[keys.String()]
	if c == nil {
		for cs.fullLocked() {
			if !cs.makeRoomLocked() {
				return nil, errTooManyRanges
			}
		}
		c = cs.openLocked(keys)
	}
	if c.watches++; c.linger != nil && !c.tooLarge() {
		c.linger.Stop()
		c.linger = nil
	}
	return c, nil
}

func (cs *keyCaches) openLocked(keys keyrange.Ranges) *keyCache {
	ctx, stop := context.WithCancel(cs.ctx)
	bounded := &boundedStore{Store: newRangesStore(cs.store, keys), most: cs.mostBytes, stop: stop, exceeded: make(chan struct{})}
	c := &keyCache{keys: keys.String(), stop: stop, exceeded: bounded.exceeded, Cache: watchcache.New(watchcache.Config{
		Store: bounded,
		Decode: func(kv etcdstore.KV) (encoding.Object, error) {
			return encoding.Object{JSON: encoding.AppendKeyValue(nil, keyOf(kv, false))}, nil
		},
		Logger: cs.logger.With("keys", keys.String()),
		Gap:    eventGap,
	})}
	bounded.size = func() int { return c.Stats().Bytes }
	cs.open[c.keys] = c
	cs.running.Go(func() { _ = c.Run(ctx) }) // always nil
	return c
}

func (cs *keyCaches) release(c *keyCache) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.watches--; c.watches > 0 || c.linger != nil || cs.open[c.keys] != c {
		return
	}
	c.linger = time.AfterFunc(keyCacheLinger, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if (c.watches == 0 || c.tooLarge()) && cs.open[c.keys] == c {
			cs.dropLocked(c)
		}
	})
}

func (cs *keyCaches) fullLocked() bool {
	bytes := 0
	for _, c := range cs.open {
		bytes += c.Stats().Bytes
	}
	return len(cs.open) >= cs.most || bytes >= cs.mostOfAll
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
	cs.gone = cs.gone.Plus(metrics.CacheOf("", c.Stats()).Happened)
	delete(cs.open, c.keys)
}

// figures are those of all of them together, if there are any, for /metrics: what keys are watched is for nobody to see there.
func (cs *keyCaches) figures() []metrics.Cache {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open) == 0 && cs.gone == (metrics.Happened{}) {
		return nil
	}
	sum := metrics.Cache{Resource: "keys", Ready: true, Happened: cs.gone}
	for _, c := range cs.open {
		one := metrics.CacheOf(sum.Resource, c.Stats())
		sum.Revision = max(sum.Revision, one.Revision)
		sum.Objects += one.Objects
		sum.Bytes += one.Bytes
		sum.Watchers += one.Watchers
		sum.Historic += one.Historic
		sum.Events += one.Events
		sum.Happened = sum.Plus(one.Happened)
	}
	return []metrics.Cache{sum}
}
