package gateway

import (
	"container/heap"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// client is a watch that a writer serves. All of it is the writer's. There are many, so the order of the fields is one without gaps.
type client struct {
	watch  *watch
	link   link
	writer *writer

	rest    []byte    // accepted from the log, sealed, and not taken by the system yet
	stalled time.Time // when the client took something last; zero: it takes what comes
	next    time.Time // of a bookmark, or the deadline
	leave   *leave    // nil: the watch goes on

	place   int32 // in the schedule
	tag     int32 // tells it from the writer's others
	marking uint8 // how often it is being asked how far etcd is, for a bookmark and the end
	waiting bool  // for room; rest may be empty
	last    bool  // with the next bookmark the watch ends
	ending  bool  // nothing comes after rest
	closed  bool
}

// leave is how a watch ends: what comes up to a revision is delivered before, if it is taken until a time.
type leave struct {
	through etcdstore.Revision
	by      time.Time
}

// leaving tells whether the watch ends as soon as the client has got what is due to it.
func (c *client) leaving() bool { return c.leave != nil && !c.ending }

// blocked tells whether the client has not taken what it was sent.
func (c *client) blocked() bool { return c.waiting || len(c.rest) > 0 }

// due is when the client has to be looked after although nothing happens.
func (c *client) due() time.Time {
	if c.stalled.IsZero() {
		return c.next
	}
	if cut := c.stalled.Add(c.writer.pool.stall); c.ending || cut.Before(c.next) {
		return cut
	}
	return c.next
}

// end is called when the server drains.
func (c *client) end() {
	c.writer.post(func() { c.writer.mark(c, true) })
}

// cut is called when the server waits no longer.
func (c *client) cut() {
	c.writer.post(func() { c.writer.close(c, errDraining) })
}

// refuse is called when the client has lost the right to the watch.
func (c *client) refuse(why error) {
	c.writer.post(func() {
		if !c.closed && !c.ending {
			c.writer.finish(c, c.endOf(why))
		}
	})
}

// endOf is the end of a stream: with an ERROR frame, where the client has to know something.
func (c *client) endOf(err error) []byte {
	if errors.Is(err, watchcache.ErrStopped) {
		return c.endAfter(nil)
	}
	return c.endAfter(c.appendFrame(nil, c.watch.frames.failure(nil, err)))
}

// endAfter appends what says that nothing follows.
func (c *client) endAfter(dst []byte) []byte {
	if c.link.chunked() {
		dst = append(dst, lastChunk...)
	}
	return dst
}

// appendFrame appends a frame as the client gets it.
func (c *client) appendFrame(dst, line []byte) []byte {
	if c.link.chunked() {
		return appendChunk(dst, line)
	}
	return append(dst, line...)
}

const unscheduled = -1

// schedule is a heap of clients, the one that is due first at its head.
type schedule []*client

// Len and the others implement heap.Interface.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due().Before(s[j].due()) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = int32(i), int32(j)
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	c := x.(*client)
	c.place = int32(len(*s))
	*s = append(*s, c)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	c := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	c.place = unscheduled
	return c
}

// put enters a client, or moves it where its new due time belongs.
func (s *schedule) put(c *client) {
	if c.place == unscheduled {
		heap.Push(s, c)
		return
	}
	heap.Fix(s, int(c.place))
}

func (s *schedule) drop(c *client) {
	if c.place != unscheduled {
		heap.Remove(s, int(c.place))
	}
}

// first is the client that is due at a time, if there is one.
func (s schedule) first(now time.Time) *client {
	if len(s) == 0 || s[0].due().After(now) {
		return nil
	}
	return s[0]
}
