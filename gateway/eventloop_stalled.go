package gateway

import (
	"time"

	"revtail/gateway/netio/socket"
)

// pause is called when a client takes nothing now.
func (w *eventLoop) pause(c *client) {
	c.paused = true
	c.session.counters.setBlockedSince(w.now)
	if !c.conn.flushing() {
		c.stalledSince = w.now
		w.schedule.put(c)
	}
}

// onWritable is called when a client may take something again.
func (w *eventLoop) onWritable(c *client) {
	if c.closed {
		return
	}
	c.paused = false
	if len(c.unsent) > 0 {
		w.sendRest(c)
		return
	}
	c.session.counters.setBlockedSince(time.Time{})
	if !c.stalledSince.IsZero() {
		c.stalledSince = time.Time{}
		w.schedule.put(c)
	}
	w.serve(c)
}

// onDue is called when a client is due: it is cut when it takes nothing, and otherwise gets a bookmark or the end.
func (w *eventLoop) onDue(c *client) {
	switch {
	case !c.stalledSince.IsZero() && !w.now.Before(c.stalledSince.Add(w.pool.writeTimeout)):
		w.onStalled(c)
	case c.endsSoon():
		w.tryEnd(c)
	case c.session.expired(w.now):
		w.requestBookmark(c, true)
	default:
		w.requestBookmark(c, false)
	}
}

// onStalled cuts a client that has taken nothing for too long, unless it has got everything that its connection let through.
func (w *eventLoop) onStalled(c *client) {
	if !c.conn.flushing() {
		w.close(c, socket.ErrStalled)
		return
	}
	c.stalledSince = w.now
	w.schedule.put(c)
}
