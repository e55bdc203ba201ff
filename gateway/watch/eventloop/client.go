package eventloop

import (
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// client is a session that an event loop serves. The loop owns it. The fields are in an order without gaps, because there are many.
type client struct {
	session *watch.Session
	conn    conn
	loop    *eventLoop

	unsent       []byte        // encrypted, and not taken by the system yet
	stalledSince time.Time     // when the client took something last; zero: it takes what comes
	next         time.Time     // of a bookmark, or the deadline
	endWhen      *endCondition // nil: the watch goes on

	heapIndex        int32 // in the schedule
	tag              int32 // tells it from the loop's others
	bookmarkRequests uint8 // requests under way: for a bookmark, and for the end
	paused           bool  // until onWritable; unsent may be empty
	endRequested     bool  // with the next bookmark the watch ends
	ending           bool  // nothing comes after unsent
	closed           bool
}

// endCondition is how a watch ends: what comes up to a revision is delivered before, if it is taken until a time.
type endCondition struct {
	through etcdstore.Revision
	by      time.Time
}

// endsSoon reports whether the watch ends as soon as the client has got what is due.
func (c *client) endsSoon() bool { return c.endWhen != nil && !c.ending }

// blocked reports whether the client has not taken everything that was sent.
func (c *client) blocked() bool { return c.paused || len(c.unsent) > 0 }

// due is when the client has to be looked after although nothing happens.
func (c *client) due() time.Time {
	if c.stalledSince.IsZero() {
		return c.next
	}
	if cut := c.stalledSince.Add(c.loop.pool.writeTimeout); c.ending || cut.Before(c.next) {
		return cut
	}
	return c.next
}

// End is called when the server drains.
func (c *client) End() {
	c.loop.postFor(c, func() { c.loop.requestBookmark(c, true) })
}

// Abort is called when the server waits no longer.
func (c *client) Abort() {
	c.loop.postFor(c, func() { c.loop.close(c, status.ErrDraining) })
}

// Refuse is called when the client has lost the right to the watch.
func (c *client) Refuse(why error) {
	c.loop.postFor(c, func() {
		if !c.closed && !c.ending {
			c.loop.finish(c, c.lastFrame(c.session.ErrorFrame(why)))
		}
	})
}

// frame returns a frame as the client gets it; nil if there is none.
func (c *client) frame(line []byte) []byte {
	if len(line) == 0 || !c.conn.chunked() {
		return line
	}
	return transport.AppendChunk(nil, line)
}

// lastFrame returns a frame, which may be nil, and the end of the body.
func (c *client) lastFrame(line []byte) []byte {
	if !c.conn.chunked() {
		return line
	}
	return append(c.frame(line), transport.LastChunk...)
}
