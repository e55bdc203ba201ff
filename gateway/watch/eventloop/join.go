package eventloop

import (
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
)

// add makes a client for a session and posts its join.
func (l *eventLoop) add(s *watch.Session, to conn) {
	s.Stream = nil
	c := &client{session: s, conn: to, loop: l, next: s.NextBookmark(), heapIndex: unscheduled}
	s.Watcher.Attach(l.ready, c)
	l.postFor(c, func() {
		s.Registration.SetLoop(c) // not earlier, because the loop may release the session at once
		l.join(c)
	})
}

// join gives the client a tag, registers its connection and serves it.
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

// release passes the session of a client to a goroutine, because reading etcd's history blocks.
func (l *eventLoop) release(c *client) {
	l.remove(c)
	c.session.Watcher.Detach()
	if err := c.conn.release(l, c.session); err != nil {
		c.session.Close(err)
	}
}

// close closes a client's session and connection. If err is nil, the stream is complete; otherwise the client gets a broken stream.
func (l *eventLoop) close(c *client, err error) {
	if c.closed {
		return
	}
	l.remove(c)
	defer c.conn.close(l, err) // also after a panic
	if c.computing {
		c.closedWith = err
		return // onComputed closes the session
	}
	c.session.Close(err)
}

func (l *eventLoop) remove(c *client) {
	c.closed, c.unsent = true, nil
	delete(l.clients, c.tag)
	l.schedule.remove(c)
	c.conn.leave(l)
}

// guard calls f, and recovers from a panic of f.
func (l *eventLoop) guard(c *client, f func()) {
	defer l.recoverSession(c)
	f()
}

// recoverSession is deferred by each function that the loop calls for one client. A panic ends only that client's session.
func (l *eventLoop) recoverSession(c *client) {
	reason := recover()
	if reason == nil {
		return
	}
	response.LogPanic(l.pool.logger, reason, "path", c.session.Counters.Path)
	defer func() {
		if reason := recover(); reason != nil { // closing the session panics too
			response.LogPanic(l.pool.logger, reason, "path", c.session.Counters.Path)
		}
	}()
	l.close(c, status.ErrInternal)
}
