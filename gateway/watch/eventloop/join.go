package eventloop

import (
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
)

// add begins to serve a watch.
func (l *eventLoop) add(s *watch.Session, to conn) {
	s.Stream = nil
	c := &client{session: s, conn: to, loop: l, next: s.NextBookmark(), heapIndex: unscheduled}
	s.Watcher.Attach(l.ready, c)
	l.postFor(c, func() {
		s.Registration.SetLoop(c) // here, and not before: the loop may release it at once
		l.join(c)
	})
}

// join begins with a client.
func (l *eventLoop) join(c *client) {
	l.tag++
	for l.clients[l.tag] != nil { // the tag wraps around
		l.tag++
	}
	c.tag = l.tag
	l.clients[c.tag] = c
	l.schedule.put(c)
	if c.conn.join(l, c) {
		l.serve(c)
	}
}

// release lets a goroutine go on with a client: etcd's history must be read, and that takes waiting.
func (l *eventLoop) release(c *client) {
	l.remove(c)
	c.session.Watcher.Detach()
	if err := c.conn.release(l, c.session); err != nil {
		c.session.Close(err)
	}
}

// close ends a client; without an error, all it got is complete.
func (l *eventLoop) close(c *client, err error) {
	if c.closed {
		return
	}
	l.remove(c)
	defer c.conn.close(err) // a handler may return now
	c.session.Close(err)
}

func (l *eventLoop) remove(c *client) {
	c.closed, c.unsent = true, nil
	delete(l.clients, c.tag)
	l.schedule.remove(c)
}

// guard calls f, and recovers the client's session from a panic.
func (l *eventLoop) guard(c *client, f func()) {
	defer l.recoverSession(c)
	f()
}

// recoverSession is deferred by every function that the loop calls for one client. A panic ends the client's session, and no other.
func (l *eventLoop) recoverSession(c *client) {
	reason := recover()
	if reason == nil {
		return
	}
	response.LogPanic(l.pool.logger, reason, "path", c.session.Counters.Path)
	defer func() {
		if reason := recover(); reason != nil { // the session cannot even be closed
			response.LogPanic(l.pool.logger, reason, "path", c.session.Counters.Path)
		}
	}()
	l.close(c, status.ErrInternal)
}
