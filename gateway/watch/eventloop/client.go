package eventloop

import (
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// client is a session on an event loop, whose goroutine owns the fields. The order of the fields avoids padding, because a server has many
// clients.
type client struct {
	session *watch.Session
	conn    conn
	loop    *eventLoop

	unsent       []byte        // encrypted bytes that the kernel has not accepted yet
	stalledSince time.Time     // start of the stall timer, reset by progress; zero: it does not run
	next         time.Time     // time of the next bookmark, or the deadline
	endWhen      *endCondition // nil: the watch does not end yet
	closedWith   error         // with closed and computing: the reason of the close

	heapIndex        int32 // in the schedule
	tag              int32 // unique in the loop
	bookmarkRequests uint8 // pending requests, for a bookmark and for the end
	paused           bool  // until onWritable; unsent may be empty
	endRequested     bool  // the next bookmark ends the watch
	computing        bool  // a goroutine uses the watcher and the encoder of the session
	woken            bool  // the watcher has woken while computing
	awaited          bool  // the client has waited for another one with the same filter
	ending           bool  // nothing is sent after unsent
	closed           bool
}

// endCondition is the condition for the end of a watch: all events up to through are sent, or the time is by.
type endCondition struct {
	through etcdstore.Revision
	by      time.Time
}

// endsSoon reports whether the watch ends when the events up to endWhen.through are sent.
func (c *client) endsSoon() bool { return c.endWhen != nil && !c.ending }

// blocked reports whether the client has not accepted all bytes that were sent.
func (c *client) blocked() bool { return c.paused || len(c.unsent) > 0 }

// due returns when onDue must run for the client.
func (c *client) due() time.Time {
	if c.stalledSince.IsZero() {
		return c.next
	}
	if cut := c.stalledSince.Add(c.loop.pool.writeTimeout); c.ending || cut.Before(c.next) {
		return cut
	}
	return c.next
}

// End requests the end of the watch: the client gets all acknowledged events and a last bookmark. Registry.Drain calls it. It does not
// block.
func (c *client) End() {
	c.loop.postFor(c, func() { c.loop.requestBookmark(c, true) })
}

// Abort breaks the stream. The registry calls it when the time to drain is over. It does not block.
func (c *client) Abort() {
	c.loop.postFor(c, func() { c.loop.close(c, status.ErrDraining) })
}

// Refuse ends the watch with an ERROR event for why, because the user has lost the permission to watch. It does not block.
func (c *client) Refuse(why error) {
	c.loop.postFor(c, func() {
		if !c.closed && !c.ending {
			c.loop.finish(c, c.lastFrame(c.session.ErrorFrame(why)))
		}
	})
}

// frame returns the bytes that the client gets for a frame; an empty frame is returned unchanged.
func (c *client) frame(line []byte) []byte {
	if len(line) == 0 || !c.conn.chunked() {
		return line
	}
	return transport.AppendChunk(nil, line)
}

// lastFrame returns the bytes of a frame, which may be nil, and of the end of the body.
func (c *client) lastFrame(line []byte) []byte {
	if !c.conn.chunked() {
		return line
	}
	return append(c.frame(line), transport.LastChunk...)
}
