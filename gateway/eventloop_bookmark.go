package gateway

import (
	"context"

	"revtail/etcdstore"
)

// requestBookmark gives a client the bookmark that is due, or, with last, the end. Both need to know how far etcd is, from a question that is
// put after this call: what was acknowledged before it comes first. All who are due in the same round of work ask it together.
func (w *eventLoop) requestBookmark(c *client, last bool) {
	if c.closed || c.ending {
		return
	}
	c.next = w.now.Add(c.session.bookmarkEvery) // unless bookmark, which is called long before, says something else
	w.schedule.put(c)
	if c.endRequested || c.bookmarkRequests > 0 && !last {
		return
	}
	c.endRequested = last
	c.bookmarkRequests++
	if !c.session.bookmarks && !last {
		w.bookmark(c, 0)
		return
	}
	w.refreshing[c.session.cache] = append(w.refreshing[c.session.cache], c)
}

// refreshCaches asks etcd for those who are due, on goroutines that may wait for it.
func (w *eventLoop) refreshCaches() {
	for cache, due := range w.refreshing {
		w.pool.background.Go(func() {
			through, _ := cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
			w.post(func() { w.onRefreshed(due, through) })
		})
	}
	clear(w.refreshing)
}

// onRefreshed is called when their cache is as far as they asked for.
func (w *eventLoop) onRefreshed(due []*client, through etcdstore.Revision) {
	for _, c := range due {
		w.bookmark(c, through)
	}
}

// bookmark writes what is there up to a revision, and how far that is. A client that does not take what it was sent before gets its
// bookmark another time. One whose time is over begins to leave.
func (w *eventLoop) bookmark(c *client, through etcdstore.Revision) {
	c.bookmarkRequests--
	switch {
	case c.closed || c.ending || c.bookmarkRequests > 0: // the end has been asked for meanwhile
		return
	case c.endRequested:
		c.endWhen = &endCondition{through, w.now.Add(w.pool.endTimeout)}
		c.next = c.endWhen.by
		w.schedule.put(c)
		w.tryEnd(c)
		return
	}
	if !w.catchUp(c, through) || c.blocked() {
		return
	}
	c.next = c.session.nextBookmark()
	w.schedule.put(c)
	w.send(c, c.bookmark())
}

// tryEnd ends a client's watch, with a bookmark, when it has got everything up to where it is to end. One that does not take that soon
// gets its end after what it was sent before.
func (w *eventLoop) tryEnd(c *client) {
	if !w.catchUp(c, c.endWhen.through) || c.blocked() && w.now.Before(c.endWhen.by) {
		return
	}
	w.finish(c, c.endAfter(c.bookmark()))
}

// catchUp writes what is there up to a revision, as far as the client takes it. False: it has ended.
func (w *eventLoop) catchUp(c *client, through etcdstore.Revision) bool {
	for c.session.watcher.Through() < through && w.deliver(c) {
	}
	return !c.closed && !c.ending
}

// bookmark is the frame that says how far the client is now; nil: there is nothing to say.
func (c *client) bookmark() []byte {
	through := c.session.watcher.Through()
	if !c.session.wantsBookmark(through, c.endRequested) {
		return nil
	}
	c.session.lastBookmark = through
	return c.appendFrame(nil, c.session.encoder.bookmark(nil, through, false))
}
