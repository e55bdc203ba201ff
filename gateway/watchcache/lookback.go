package watchcache

import (
	"context"
	"errors"
	"math"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// serve makes the cache serve the mirror, and reads the newest events up to the state of the mirror meanwhile, as far as etcd has them. The
// caller calls stop, which returns when the read has ended.
func (r *reflector) serve(ctx context.Context) (stop func()) {
	if r.through == 1 || r.cache.config.Readable != nil {
		r.publish() // etcd has no write yet, or values are dear
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	r.cache.setLookingBack(ended)
	r.publish()
	go func(through etcdstore.Revision) {
		defer close(ended)
		if err := r.cache.readBack(ctx, through); err != nil && ctx.Err() == nil {
			r.cache.config.Logger.Debug("the log begins with the state of the fill", "prefix", r.cache.config.Prefix, "error", err)
		}
	}(r.through)
	return func() {
		cancel()
		<-ended
	}
}

// setLookingBack tells awaitLookBack about a look back, before a watcher can need it.
func (c *Cache) setLookingBack(ended <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookingBack = ended
}

// awaitLookBack waits until the cache has looked back, if it does so now, and returns the revision after which the log has all events. Watchers
// that have resumed meanwhile then read the log, and not each its own part of etcd's history.
func (c *Cache) awaitLookBack(ctx context.Context) (floor etcdstore.Revision, waited bool) {
	c.mu.Lock()
	lookingBack := c.lookingBack
	c.lookingBack = nil
	c.mu.Unlock()
	if lookingBack == nil {
		return 0, false
	}
	select {
	case <-lookingBack:
	case <-ctx.Done():
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.floor, true
}

// readBack puts the newest events up to a revision, at which the log began, into the log.
func (c *Cache) readBack(ctx context.Context, through etcdstore.Revision) error {
	after := max(through-c.lookBack, 1)
	err := c.readBackTo(ctx, after, through)
	if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); ok && after < compacted.Compacted && compacted.Compacted <= through {
		// The newest revision at least is read again, because a client may have only a part of it.
		err = c.readBackTo(ctx, min(compacted.Compacted, through-1), through)
	}
	return err
}

// readBackTo is readBack from a revision. When a previous value is compacted the log begins after that event. It uses a watch of its
// own, because previous values cost etcd a read each and the watch of the reflector needs none.
func (c *Cache) readBackTo(ctx context.Context, after, through etcdstore.Revision) error {
	var recent log // holds as many events as its limit allows
	c.mu.Lock()
	recent.state, recent.reserve = c.log.state, c.log.reserve
	c.mu.Unlock()
	recent.reset(after)
	if after == 1 {
		recent.floor = 0 // the first write makes revision 2, so the log holds everything
	}
	err := history.Recent(ctx, c.config.Store, c.config.Prefix, after, through, func(e etcdstore.Event) {
		if e.PrevLost() {
			recent.reset(e.Revision)
		} else if decoded := c.decodeEvent(e); decoded != nil && e.Revision > recent.floor {
			recent.append(decoded)
		}
	})
	recent.release(0) // for the log
	if err != nil {
		return err
	}
	events := recent.read(nil, recent.first, math.MaxInt, math.MaxInt)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log.floor == through { // otherwise the log is full already
		c.log.prepend(events, recent.floor)
	}
	return nil
}
