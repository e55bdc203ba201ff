package keys

import (
	"container/list"
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
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/watchcache"
)

const (
	// maxRangeBytes is how many bytes of JSON one cache can hold, but at most half of what all can hold.
	maxRangeBytes = 256 << 20
	// rangeCacheLinger is how long a cache stays after its last watch, for a client that reconnects. A cache that has become too large
	// stays as long, so that its range is not read again for each request.
	rangeCacheLinger = time.Minute
)

var errRangeTooLarge = status.Error(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
	"the keys hold more than can be watched at once, 256 MiB or a quarter of the gateway's memory limit: watch a part of them, or read them in pages")

// rangeCaches are the caches of the ranges that are watched: all watches of the same ranges share one. A cache that is used counts, with
// its bytes, for the first of its users who still watches. One that nobody uses counts for nobody, and makes room for others.
type rangeCaches struct {
	store         etcdstore.Store
	logger        *slog.Logger
	places, bytes *flowcontrol.Pool
	maxBytes      int // of one cache

	mu      sync.Mutex             // guards the fields below
	ctx     context.Context        // of start; nil: not running
	open    map[string]*rangeCache // by the text of their ranges
	idle    list.List              // of *rangeCache: those without watches, the longest first
	gone    metrics.Counts         // of the dropped caches
	running sync.WaitGroup         // Add only while ctx is not nil
}

// rangeCache is the cache of one or several ranges. The lock of rangeCaches guards its fields.
type rangeCache struct {
	*watchcache.Cache
	limit *sizeLimit

	ranges string
	users  map[string]int    // their watches
	payer  string            // the user for whom place and limit.held count; one of users, if there is any
	place  flowcontrol.Seats // while the cache has users
	idle   *list.Element     // in rangeCaches.idle; nil: the cache has users, or is dropped
	linger *time.Timer       // nil: the cache stays
}

func newRangeCaches(store etcdstore.Store, logger *slog.Logger, pools *flowcontrol.Pools) *rangeCaches {
	return &rangeCaches{
		store: store, logger: logger, places: pools.KeyRanges, bytes: pools.KeyRangeBytes, open: make(map[string]*rangeCache),
		maxBytes: int(min(maxRangeBytes, pools.KeyRangeBytes.Seats()/2)),
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

// acquire returns the cache of ranges for a user, which may still have to be filled. The caller calls release. The error is
// watchcache.ErrStopped, or a *flowcontrol.RejectedError if the user has its share of caches.
func (cs *rangeCaches) acquire(ranges keyrange.Ranges, user string) (*rangeCache, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ctx == nil {
		return nil, watchcache.ErrStopped
	}
	c := cs.open[ranges.String()]
	if c != nil && c.limit.rejected() && c.payer != user { // the other had no room for it, and this one may have
		cs.dropLocked(c)
		c = nil
	}
	if c == nil || len(c.users) == 0 {
		place, err := cs.places.Acquire(cs.ctx, user, 1)
		if err != nil {
			return nil, err
		}
		if c == nil {
			if c, err = cs.openLocked(ranges, user); err != nil {
				place.Release()
				return nil, err
			}
		}
		c.place = place
		cs.payLocked(c, user)
	}
	if c.users[user]++; c.linger != nil && !c.limit.stopped() {
		c.linger.Stop()
		c.linger = nil
	}
	return c, nil
}

// payLocked makes a cache count for a user.
func (cs *rangeCaches) payLocked(c *rangeCache, user string) {
	if c.idle != nil {
		cs.idle.Remove(c.idle)
		c.idle = nil
	}
	c.payer = user
	c.place.Move(user)
	c.limit.held.Move(user)
}

// openLocked opens a cache, in place of those without watches if there are too many or they hold too much.
func (cs *rangeCaches) openLocked(ranges keyrange.Ranges, user string) (*rangeCache, error) {
	for cs.idle.Len() > 0 && (int64(len(cs.open)) >= cs.places.Seats() || cs.bytes.Free() <= 0) {
		cs.dropLocked(cs.idle.Front().Value.(*rangeCache))
	}
	held, err := cs.bytes.Acquire(cs.ctx, user, 1)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(cs.ctx)
	c := &rangeCache{ranges: ranges.String(), users: make(map[string]int), limit: &sizeLimit{
		Store: newRangesStore(cs.store, ranges), maxBytes: cs.maxBytes, held: held, ctx: ctx, stop: stop,
	}}
	c.Cache = watchcache.New(watchcache.Config{
		Store: c.limit,
		Decode: func(kv etcdstore.KV, buffer []byte) (encoding.Object, error) {
			return encoding.Object{JSON: encoding.AppendKeyValue(buffer, keyValue(kv, false))}, nil
		},
		Logger: cs.logger.With("keys", c.ranges),
		Gap:    watchcache.DefaultGap,
	})
	c.limit.size = func() int { return c.Stats().Bytes }
	cs.open[c.ranges] = c
	cs.running.Go(func() { _ = c.Run(ctx) }) // always nil
	return c, nil
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
	if c.limit.stopped() {
		err = context.Cause(c.limit.ctx)
	}
	return atLeast, err
}

// release ends a use of a cache by a user.
func (cs *rangeCaches) release(c *rangeCache, user string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.users[user]--; c.users[user] == 0 {
		delete(c.users, user)
	}
	if cs.open[c.ranges] != c {
		return
	}
	if len(c.users) > 0 {
		for other := range c.users {
			if c.users[c.payer] > 0 {
				break
			}
			cs.payLocked(c, other)
		}
		return
	}
	c.place.Release()
	c.limit.held.Park()
	c.idle = cs.idle.PushBack(c)
	if c.linger != nil {
		return
	}
	c.linger = time.AfterFunc(rangeCacheLinger, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if (len(c.users) == 0 || c.limit.stopped()) && cs.open[c.ranges] == c {
			cs.dropLocked(c)
		}
	})
}

func (cs *rangeCaches) dropLocked(c *rangeCache) {
	if c.linger != nil {
		c.linger.Stop()
	}
	if c.idle != nil {
		cs.idle.Remove(c.idle)
		c.idle = nil
	}
	c.place.Release()
	c.limit.held.Release()
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
		sum.Snapshots += one.Snapshots
		sum.Events += one.Events
		sum.Counts = sum.Plus(one.Counts)
	}
	return []metrics.Cache{sum}
}
