package keys

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/watchcache"
)

const (
	// maxRangeCaches is how many ranges of keys can be watched at the same time. Each needs a watch of etcd, some 100 KB, and the
	// memory for all its values.
	maxRangeCaches = 1000
	// maxRangeBytes is how many bytes of JSON one cache can hold. No other range can be watched while all hold maxRangesBytes.
	maxRangeBytes  = 256 << 20
	maxRangesBytes = 1 << 30
	// rangeCacheLinger is how long a cache stays after its last watch, for a client that reconnects. A cache that has become too large
	// stays as long, so that its range is not read again for each request.
	rangeCacheLinger = time.Minute
)

var errRangeTooLarge = status.Error(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
	"the keys hold more than can be watched at once, 256 MiB or a quarter of the gateway's memory limit: watch a part of them, or read them in pages")

// rangeCaches are the caches of the ranges that are watched: all watches of the same ranges share one.
type rangeCaches struct {
	store  etcdstore.Store
	logger *slog.Logger
	// maxRangeCaches, maxRangeBytes and maxRangesBytes; less with a memory limit and in tests
	maxCaches, maxBytes, maxBytesOfAll int

	mu      sync.Mutex             // guards the fields below
	ctx     context.Context        // of start; nil: not running
	open    map[string]*rangeCache // by the text of their ranges
	gone    metrics.Counts         // of the dropped caches
	running sync.WaitGroup         // Add only while ctx is not nil
}

// rangeCache is the cache of one or several ranges. The lock of rangeCaches guards its fields.
type rangeCache struct {
	*watchcache.Cache
	limit *sizeLimit

	ranges  string
	watches int
	linger  *time.Timer // nil: the cache is used
}

func newRangeCaches(store etcdstore.Store, logger *slog.Logger, memoryLimit int64) *rangeCaches {
	return &rangeCaches{
		store: store, logger: logger, maxCaches: maxRangeCaches, open: make(map[string]*rangeCache),
		maxBytes: int(memoryShare(memoryLimit, rangeShare, maxRangeBytes)), maxBytesOfAll: int(memoryShare(memoryLimit, rangesShare, maxRangesBytes)),
	}
}

// start lets caches be opened until ctx ends, and ends all of them then.
func (cs *rangeCaches) start(ctx context.Context, running *sync.WaitGroup) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ctx = ctx
	running.Go(func() {
		<-ctx.Done()
		cs.mu.Lock()
		cs.ctx = nil
		for _, c := range cs.open {
			cs.dropLocked(c)
		}
		cs.mu.Unlock()
		cs.running.Wait()
	})
}

// acquire returns the cache of ranges, which may still have to be filled. The caller calls release.
func (cs *rangeCaches) acquire(ranges keyrange.Ranges) (*rangeCache, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ctx == nil {
		return nil, watchcache.ErrStopped
	}
	c := cs.open[ranges.String()]
	if c == nil {
		if !cs.makeRoomLocked() {
			return nil, status.ErrTooManyRanges
		}
		c = cs.openLocked(ranges)
	}
	if c.watches++; c.linger != nil && !c.limit.exceeded() {
		c.linger.Stop()
		c.linger = nil
	}
	return c, nil
}

func (cs *rangeCaches) openLocked(ranges keyrange.Ranges) *rangeCache {
	ctx, stop := context.WithCancelCause(cs.ctx)
	c := &rangeCache{ranges: ranges.String(), limit: &sizeLimit{Store: newRangesStore(cs.store, ranges), maxBytes: cs.maxBytes, ctx: ctx, stop: stop}}
	c.Cache = watchcache.New(watchcache.Config{
		Store: c.limit,
		Decode: func(kv etcdstore.KV) (encoding.Object, error) {
			return encoding.Object{JSON: encoding.AppendKeyValue(nil, keyValue(kv, false))}, nil
		},
		Logger: cs.logger.With("keys", c.ranges),
		Gap:    watchcache.DefaultGap,
	})
	c.limit.size = func() int { return c.Stats().Bytes }
	cs.open[c.ranges] = c
	cs.running.Go(func() { _ = c.Run(ctx) }) // always nil
	return c
}

// ready waits until a watch can begin. With state it returns the revision that the state must have reached.
func (c *rangeCache) ready(ctx context.Context, state bool) (atLeast etcdstore.Revision, err error) {
	select {
	case <-c.limit.ctx.Done():
		err = watchcache.ErrStopped
	case <-c.Filled():
		if state {
			atLeast, err = c.Newest(ctx)
		}
	case <-ctx.Done():
		err = &watchcache.NotReadyError{RetryAfter: time.Second}
	}
	if c.limit.exceeded() {
		err = errRangeTooLarge
	}
	return atLeast, err
}

func (cs *rangeCaches) release(c *rangeCache) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.watches--; c.watches > 0 || c.linger != nil || cs.open[c.ranges] != c {
		return
	}
	c.linger = time.AfterFunc(rangeCacheLinger, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if (c.watches == 0 || c.limit.exceeded()) && cs.open[c.ranges] == c {
			cs.dropLocked(c)
		}
	})
}

// makeRoomLocked drops unused caches until another one may be opened, and reports whether it may.
func (cs *rangeCaches) makeRoomLocked() bool {
	var bytes int64
	for _, c := range cs.open {
		bytes += c.limit.bytes.Load()
	}
	full := func() bool { return len(cs.open) >= cs.maxCaches || bytes >= int64(cs.maxBytesOfAll) }
	for _, c := range cs.open {
		if !full() {
			break
		}
		if c.watches == 0 {
			bytes -= c.limit.bytes.Load()
			cs.dropLocked(c)
		}
	}
	return !full()
}

func (cs *rangeCaches) dropLocked(c *rangeCache) {
	if c.linger != nil {
		c.linger.Stop()
	}
	c.limit.stop(nil)
	cs.gone = cs.gone.Plus(metrics.CacheOf("", c.Stats()).Counts)
	delete(cs.open, c.ranges)
}

// figures returns the sum of all caches, if there are any. It takes the locks of the caches one by one, and not under the lock of all.
func (cs *rangeCaches) figures() []metrics.Cache {
	cs.mu.Lock()
	sum := metrics.Cache{Resource: "keys", Ready: true, Counts: cs.gone}
	open := slices.Collect(maps.Values(cs.open))
	cs.mu.Unlock()
	if len(open) == 0 && sum.Counts == (metrics.Counts{}) {
		return nil
	}
	for _, c := range open {
		one := metrics.CacheOf(sum.Resource, c.Stats())
		sum.Revision = max(sum.Revision, one.Revision)
		sum.Objects += one.Objects
		sum.Bytes += one.Bytes
		sum.Watchers += one.Watchers
		sum.Historic += one.Historic
		sum.Events += one.Events
		sum.Counts = sum.Plus(one.Counts)
	}
	return []metrics.Cache{sum}
}
