package eventloop

import (
	"context"

	"revtail/etcdstore"
)

// requestBookmark gives a client the bookmark that is due, or, with last, the end. Both need to know how far etcd is, from a question that is
// put after this call: what was acknowledged before it comes first. All who are due in the same round of work ask it together.
func (l *eventLoop) requestBookmark(c *client, last bool) {
	if c.closed || c.ending {
		return
	}
	c.next = l.now.Add(c.session.BookmarkEvery) // unless bookmark, which is called long before, says something else
	l.schedule.put(c)
	if c.endRequested || c.bookmarkRequests > 0 && !last {
		return
	}
	c.endRequested = last
	c.bookmarkRequests++
	if !c.session.Bookmarks && !last {
		l.bookmark(c, 0)
		return
	}
	l.refreshing[c.session.Cache] = append(l.refreshing[c.session.Cache], c)
}

// refreshCaches asks etcd for those who are due, on goroutines that may wait for it.
func (l *eventLoop) refreshCaches() {
	for cache, due := range l.refreshing {
		l.pool.background.Go(func() {
			through, _ := cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
			l.post(func() { l.onRefreshed(due, through) })
		})
	}
	clear(l.refreshing)
}

// onRefreshed is called when their cache is as far as they asked for.
func (l *eventLoop) onRefreshed(due []*client, through etcdstore.Revision) {
	for _, c := range due {
		l.guard(c, func() { l.bookmark(c, through) })
	}
}

// bookmark writes what is there up to a revision, and how far that is. A client that does not take what it was sent before gets its
// bookmark another time. One whose time is over begins to leave.
func (l *eventLoop) bookmark(c *client, through etcdstore.Revision) {
	c.bookmarkRequests--
	switch {
	case c.closed || c.ending || c.bookmarkRequests > 0: // the end has been asked for meanwhile
		return
	case c.endRequested:
		c.endWhen = &endCondition{through, l.now.Add(l.pool.endTimeout)}
		c.next = c.endWhen.by
		l.schedule.put(c)
		l.tryEnd(c)
		return
	}
	if !l.catchUp(c, through) || c.blocked() {
		return
	}
	c.next = c.session.NextBookmark()
	l.schedule.put(c)
	l.send(c, c.frame(c.session.Bookmark(false)))
}

// tryEnd ends a client's watch, with a bookmark, when it has got everything up to where it is to end. One that does not take that soon
// gets its end after what it was sent before.
func (l *eventLoop) tryEnd(c *client) {
	if !l.catchUp(c, c.endWhen.through) || c.blocked() && l.now.Before(c.endWhen.by) {
		return
	}
	l.finish(c, c.lastFrame(c.session.Bookmark(true)))
}

// catchUp writes what is there up to a revision, as far as the client takes it. False: it has ended.
func (l *eventLoop) catchUp(c *client, through etcdstore.Revision) bool {
	for c.session.Watcher.Through() < through && l.deliver(c) {
	}
	return !c.closed && !c.ending
}
