package gateway

import (
	"container/heap"
	"crypto/tls"
	"errors"
	"time"

	"revtail/gateway/watchcache"
)

// client is a watch whose connection a writer owns. All of it is the writer's.
type client struct {
	watch  *watch
	socket socket
	wire   *wire     // between TLS and the socket; nil: no TLS
	secure *tls.Conn // on the wire
	writer *writer
	tag    int32 // tells it from others that had the same descriptor

	rest    []byte    // accepted from the log, sealed, and not taken by the system yet
	stalled time.Time // when the client took something last, while rest is not empty
	ending  bool      // nothing comes after rest
	closed  bool
	unasked int // bytes the client has sent after its request

	next    time.Time // of a bookmark, or the deadline
	marking bool      // the bookmark is being made
	last    bool      // with the next bookmark the watch ends
	place   int       // in the schedule
}

// due is when the client has to be looked after although nothing happens.
func (c *client) due() time.Time {
	if len(c.rest) == 0 {
		return c.next
	}
	if cut := c.stalled.Add(c.writer.pool.stall); c.ending || cut.Before(c.next) {
		return cut
	}
	return c.next
}

// seal is what TLS makes of data, and of the end where nothing comes after it. It stands in a buffer of the writer's.
func (c *client) seal(data []byte) ([]byte, error) {
	w := c.writer
	if cap(w.sealed) > 2*collectMost {
		w.sealed = nil // a large object had come by
	}
	w.sealed = w.sealed[:0]
	_, err := c.secure.Write(data) // by way of the wire
	if err == nil && c.ending {
		err = c.secure.CloseWrite()
	}
	return w.sealed, err
}

// read reads what the client has said; more: it may say more at once.
func (c *client) read(into []byte) (n int, more bool, err error) {
	if c.secure == nil {
		return c.socket.read(into)
	}
	n, err = c.secure.Read(into)
	if errors.Is(err, nothingYet{}) {
		return n, false, nil
	}
	return n, true, err
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
			c.writer.finish(c, endOf(c.watch.frames, why))
		}
	})
}

// endOf is the end of a stream: with an ERROR frame, where the client has to know something.
func endOf(f framing, err error) []byte {
	if errors.Is(err, watchcache.ErrStopped) {
		return []byte(lastChunk)
	}
	return append(appendChunk(nil, f.failure(nil, err)), lastChunk...)
}

const unscheduled = -1

// schedule is a heap of clients, the one that is due first at its head.
type schedule []*client

// Len and the others implement heap.Interface.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due().Before(s[j].due()) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	c := x.(*client)
	c.place = len(*s)
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
	heap.Fix(s, c.place)
}

func (s *schedule) drop(c *client) {
	if c.place != unscheduled {
		heap.Remove(s, c.place)
	}
}

// first is the client that is due at a time, if there is one.
func (s schedule) first(now time.Time) *client {
	if len(s) == 0 || s[0].due().After(now) {
		return nil
	}
	return s[0]
}
