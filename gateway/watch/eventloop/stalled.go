package eventloop

import (
	"time"

	"revtail/gateway/netio/socket"
)

// pause stops deliveries to a client that accepts no bytes now, until onWritable.
func (l *eventLoop) pause(c *client) {
	c.paused = true
	c.session.Counters.SetBlockedSince(l.now)
	if !c.conn.flushing() {
		c.stalledSince = l.now
		l.schedule.put(c)
	}
}

// onWritable is called when a client may accept bytes again.
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

// onDue is called when a client is due. It closes a stalled client, and requests a bookmark or the end for any other.
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

// onStalled closes a client that has accepted no bytes for writeTimeout, unless its connection is still writing: then the client has
// accepted all bytes that the connection has written, and the stall timer restarts.
func (l *eventLoop) onStalled(c *client) {
	if !c.conn.flushing() {
		l.close(c, socket.ErrStalled)
		return
	}
	c.stalledSince = l.now
	l.schedule.put(c)
}
