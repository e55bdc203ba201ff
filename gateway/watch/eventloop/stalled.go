package eventloop

import (
	"time"

	"revtail/gateway/netio/socket"
)

// pause stops the delivery to a client that takes nothing now.
func (l *eventLoop) pause(c *client) {
	c.paused = true
	c.session.Counters.SetBlockedSince(l.now)
	if !c.conn.flushing() {
		c.stalledSince = l.now
		l.schedule.put(c)
	}
}

// onWritable is called when a client may take something again.
func (l *eventLoop) onWritable(c *client) {
	if c.closed {
		return
	}
	c.paused = false
	if len(c.unsent) > 0 {
		l.sendRest(c)
		return
	}
	c.session.Counters.SetBlockedSince(time.Time{})
	if !c.stalledSince.IsZero() {
		c.stalledSince = time.Time{}
		l.schedule.put(c)
	}
	l.serve(c)
}

// onDue is called when a client is due: it is cut when it takes nothing, and otherwise gets a bookmark or the end.
func (l *eventLoop) onDue(c *client) {
	defer l.recoverSession(c)
	switch {
	case !c.stalledSince.IsZero() && !l.now.Before(c.stalledSince.Add(l.pool.writeTimeout)):
		l.onStalled(c)
	case c.endsSoon():
		l.tryEnd(c)
	case c.session.Expired(l.now):
		l.requestBookmark(c, true)
	default:
		l.requestBookmark(c, false)
	}
}

// onStalled cuts a client that has taken nothing for too long, unless it has got everything that its connection let through.
func (l *eventLoop) onStalled(c *client) {
	if !c.conn.flushing() {
		l.close(c, socket.ErrStalled)
		return
	}
	c.stalledSince = l.now
	l.schedule.put(c)
}
