package eventloop

import (
	"context"

	"revtail/etcdstore"
)

// requestBookmark requests the bookmark that is due or, with last, the end of the watch. Both need etcd's revision from a read that begins
// after this call, because all writes acknowledged before the call are delivered first. The clients that are due in the same round of work
// share one read per cache.
func (l *eventLoop) requestBookmark(c *client, last bool) {
	if c.closed || c.ending {
		return
	}
	c.next = l.now.Add(c.session.BookmarkEvery) // bookmark runs long before that, and may set another time
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

// refreshCaches reads etcd's revision for the clients in refreshing, on goroutines because Refresh blocks.
func (l *eventLoop) refreshCaches() {
	for cache, due := range l.refreshing {
		l.background(due, func() {
			through, _ := cache.Refresh(context.Background()) //nolint:forbidigo // Refresh is short, and must also work after the watch's deadline
			l.post(func() { l.onRefreshed(due, through) })
		})
	}
	clear(l.refreshing)
}

// onRefreshed is called when the cache of the clients has reached the revision that Refresh returned.
func (l *eventLoop) onRefreshed(due []*client, through etcdstore.Revision) {
	for _, c := range due {
		l.guard(c, func() { l.bookmark(c, through) })
	}
}

// bookmark delivers the events up to a revision and then a bookmark. A blocked client gets its bookmark when it is due again. If the end
// was requested, bookmark sets endWhen and calls tryEnd instead.
func (l *eventLoop) bookmark(c *client, through etcdstore.Revision) {
	c.bookmarkRequests--
	switch {
	case c.closed || c.ending || c.bookmarkRequests > 0: // a request for the end is pending
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

// tryEnd ends the watch with a bookmark when all events up to endWhen.through are sent. A client that is still blocked at endWhen.by gets
// the end after its unsent bytes.
func (l *eventLoop) tryEnd(c *client) {
	if c.computing {
		if !l.now.Before(c.endWhen.by) {
			l.finish(c, c.lastFrame(nil)) // the client resumes at its last revision
		}
		return
	}
	if !l.catchUp(c, c.endWhen.through) || c.blocked() && l.now.Before(c.endWhen.by) {
		return
	}
	l.finish(c, c.lastFrame(c.session.Bookmark(true)))
}

// catchUp delivers events up to a revision, until the client blocks or a goroutine computes its batch. It reports whether the client is
// neither closed nor ending, and the loop may use its watcher.
func (l *eventLoop) catchUp(c *client, through etcdstore.Revision) bool {
	for !c.computing && c.session.Watcher.Through() < through && l.deliver(c) {
	}
	return !c.closed && !c.ending && !c.computing
}
