package gateway

import (
	"context"

	"revtail/etcdstore"
)

// mark gives a client the bookmark that is due, or, with last, the end. Both need to know how far etcd is, from a question that is
// put after this call: what was acknowledged before it comes first. All who are due in the same round of work ask it together.
func (w *writer) mark(c *client, last bool) {
	if c.closed || c.ending {
		return
	}
	c.next = w.now.Add(c.watch.every) // unless bookmark, which is called long before, says something else
	w.schedule.put(c)
	if c.last || c.marking > 0 && !last {
		return
	}
	c.last = last
	c.marking++
	if !c.watch.bookmarks && !last {
		w.bookmark(c, 0)
		return
	}
	w.asking[c.watch.cache] = append(w.asking[c.watch.cache], c)
}

// ask asks etcd for those who are due, on goroutines that may wait for it.
func (w *writer) ask() {
	for cache, due := range w.asking {
		w.pool.borrowed.Go(func() {
			through, _ := cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
			w.post(func() { w.fresh(due, through) })
		})
	}
	clear(w.asking)
}

// fresh is called when their cache is as far as they asked for.
func (w *writer) fresh(due []*client, through etcdstore.Revision) {
	for _, c := range due {
		w.bookmark(c, through)
	}
}

// bookmark writes what is there up to a revision, and how far that is. A client that does not take what it was sent before gets its
// bookmark another time. One whose time is over begins to leave.
func (w *writer) bookmark(c *client, through etcdstore.Revision) {
	c.marking--
	switch {
	case c.closed || c.ending || c.marking > 0: // the end has been asked for meanwhile
		return
	case c.last:
		c.leave = &leave{through, w.now.Add(w.pool.patience)}
		c.next = c.leave.by
		w.schedule.put(c)
		w.leave(c)
		return
	}
	if !w.catchUp(c, through) || c.blocked() {
		return
	}
	c.next = c.watch.nextBookmark()
	w.schedule.put(c)
	w.send(c, c.bookmark())
}

// leave ends a client's watch, with a bookmark, when it has got everything up to where it is to end. One that does not take that soon
// gets its end after what it was sent before.
func (w *writer) leave(c *client) {
	if !w.catchUp(c, c.leave.through) || c.blocked() && w.now.Before(c.leave.by) {
		return
	}
	w.finish(c, c.endAfter(c.bookmark()))
}

// catchUp writes what is there up to a revision, as far as the client takes it. False: it has ended.
func (w *writer) catchUp(c *client, through etcdstore.Revision) bool {
	for c.watch.watcher.Through() < through && w.deliver(c) {
	}
	return !c.closed && !c.ending
}

// bookmark is the frame that says how far the client is now; nil: there is nothing to say.
func (c *client) bookmark() []byte {
	through := c.watch.watcher.Through()
	if !c.watch.wantsBookmark(through, c.last) {
		return nil
	}
	c.watch.marked = through
	return c.appendFrame(nil, c.watch.frames.mark(nil, through, false))
}
