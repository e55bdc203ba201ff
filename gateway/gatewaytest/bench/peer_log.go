package main

import (
	"sync"
	"sync/atomic"
)

// segmentSize is the size of a segment in bytes.
const segmentSize = 1 << 20

// eventLog has the events of the null fan-out: prepared frames one after the other, shared by all its clients.
type eventLog struct {
	mu    sync.Mutex // guards the fields below
	last  *segment
	grown chan struct{} // closed and replaced at each wake
}

// segment is a part of the log. The bytes before end never change.
type segment struct {
	data [segmentSize]byte
	end  atomic.Int64
	next atomic.Pointer[segment]
}

func newEventLog() *eventLog { return &eventLog{last: new(segment), grown: make(chan struct{})} }

// append adds a frame.
func (l *eventLog) append(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := int(l.last.end.Load())
	if end+len(frame) > segmentSize {
		next := new(segment)
		l.last.next.Store(next)
		l.last, end = next, 0
	}
	copy(l.last.data[end:], frame)
	l.last.end.Store(int64(end + len(frame)))
}

// wake wakes all waiting readers after the log has grown.
func (l *eventLog) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.grown)
	l.grown = make(chan struct{})
}

// cursor is a position in the log.
type cursor struct {
	segment *segment
	offset  int
}

// head returns the end of the log, and a channel that is closed when it has grown.
func (l *eventLog) head() (cursor, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cursor{l.last, int(l.last.end.Load())}, l.grown
}

// pending returns the bytes after the cursor in one segment; empty: none.
func (c *cursor) pending() []byte {
	for {
		next := c.segment.next.Load() // before end, because a segment with a next one has its final end
		end := int(c.segment.end.Load())
		if c.offset < end || next == nil {
			return c.segment.data[c.offset:end]
		}
		c.segment, c.offset = next, 0
	}
}
