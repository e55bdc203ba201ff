package gateway

import (
	"context"

	"revtail/gateway/watchcache"
)

// mark gives a client the bookmark that is due, and, with last, the end. A bookmark needs to know how far etcd is, and before the end
// comes what was acknowledged before it, as far as Refresh can; that takes asking, and is asked once for all who are due at the same
// time.
func (w *writer) mark(c *client, last bool) {
	if c.closed || c.ending {
		return
	}
	c.last = c.last || last
	c.next = w.now.Add(c.watch.every) // unless bookmark, which is called long before, says something else
	w.schedule.put(c)
	if c.marking {
		return
	}
	c.marking = true
	if !c.watch.bookmarks && !last {
		w.bookmark(c)
		return
	}
	cache := c.watch.cache
	waiting, asked := w.refreshing[cache]
	w.refreshing[cache] = append(waiting, c)
	if asked {
		return
	}
	w.pool.borrowed.Go(func() {
		cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
		w.post(func() { w.fresh(cache) })
	})
}

// fresh is called when it is known how far a cache is.
func (w *writer) fresh(cache *watchcache.Cache) {
	due := w.refreshing[cache]
	delete(w.refreshing, cache)
	for _, c := range due {
		w.bookmark(c)
	}
}

// bookmark writes what is there, how far that is, and the end if it is time. A client that does not take what it was sent
// before gets its bookmark another time.
func (w *writer) bookmark(c *client) {
	c.marking = false
	for w.deliver(c) {
	}
	if c.closed || c.ending || (c.waiting || len(c.rest) > 0) && !c.last {
		return
	}
	var tail []byte
	if through := c.watch.watcher.Through(); c.watch.wantsBookmark(through, c.last) {
		c.watch.marked = through
		tail = c.appendFrame(tail, c.watch.frames.mark(nil, through, false))
	}
	if c.last {
		w.finish(c, c.endAfter(tail))
		return
	}
	c.next = c.watch.nextBookmark()
	w.schedule.put(c)
	w.send(c, tail)
}
