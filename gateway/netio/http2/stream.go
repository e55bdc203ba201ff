package http2

import (
	"errors"
	"strconv"
	"strings"

	"revtail/gateway/netio/buffer"
)

// leastWindow is how much of a connection's window there must be for taken streams when one is. A client that says nothing
// of it has all of it filled by net/http, which has been told of it.
const leastWindow = 16 << 10

// errGone is the error of a stream that has ended.
var errGone = errors.New("http2: the stream has ended")

// Stream is one request and its answer.
type Stream struct {
	conn *Conn
	id   uint32

	// The connection's mutex guards the fields below.
	window int64
	begun  bool // the head of the answer has been sent
	gone   bool // nothing can be sent any more
	taken  bool
	waits  bool // for room
	room   func()
}

// Conn is the stream's connection.
func (s *Stream) Conn() *Conn { return s.conn }

// Take begins to send the body of the answer by Send. The handler must have flushed the head, and not write any more; it returns when
// the body is complete, and what was sent is sent before that. An error: the stream has ended.
func (s *Stream) Take() error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.begun && !s.gone && c.err == nil {
		c.changed.Wait()
	}
	s.taken = true
	return s.endedLocked()
}

// OnRoom has f called, once, when there may be room after Send or Ready has found too little, or the stream has ended since. It must
// neither block nor call the stream or its connection.
func (s *Stream) OnRoom(f func()) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.room = f
	s.waits = false
}

// Send sends as much as the client and its connection take now; Conn.Flush has it leave. It does not wait. The data are the caller's.
func (s *Stream) Send(data []byte) (n int, err error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(data) {
		room, err := s.readyLocked()
		if room <= 0 || err != nil {
			return n, err
		}
		piece := data[n:min(len(data), n+room)]
		if c.frames == nil {
			c.frames = buffer.Get()
		}
		c.frames.Bytes = appendData(c.frames.Bytes, s.id, piece)
		s.window -= int64(len(piece))
		c.window.spendOurs(int64(len(piece)))
		n += len(piece)
	}
	return n, nil
}

// Ready tells whether Send would do something: send, or fail.
func (s *Stream) Ready() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	room, err := s.readyLocked()
	return room > 0 || err != nil
}

// readyLocked is how large the next frame may be; zero: the stream waits for room.
func (s *Stream) readyLocked() (int, error) {
	c := s.conn
	if c.frames != nil && len(c.frames.Bytes) >= mostFrames {
		c.flushLocked()
	}
	if err := s.endedLocked(); err != nil {
		return 0, err
	}
	full := c.frames != nil && len(c.frames.Bytes) >= mostFrames || c.outbox.busy()
	room := min(s.window, c.window.ours(), int64(c.size))
	if full || room <= 0 {
		s.waits = true
		return 0, nil
	}
	return int(room), nil
}

// Ended says why nothing can be sent any more; nil: something can.
func (s *Stream) Ended() error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.endedLocked()
}

// endedLocked says why nothing can be sent any more.
func (s *Stream) endedLocked() error {
	if s.conn.err != nil {
		return s.conn.err
	}
	if s.gone {
		return errGone
	}
	return nil
}

// roomLocked tells who waits that there may be room.
func (s *Stream) roomLocked() {
	if s.waits && s.room != nil {
		s.waits = false
		s.room()
	}
}

// stream is the one that a handler has been told of; nil: it is not there, or the client takes too little at a time.
func (c *Conn) stream(name string) *Stream {
	text, ok := strings.CutPrefix(name, c.secret)
	if !ok {
		return nil
	}
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.window.ours() < leastWindow {
		return nil
	}
	return c.streams[uint32(id)]
}

// dropLocked forgets a stream on which nothing can be sent any more.
func (c *Conn) dropLocked(s *Stream) {
	delete(c.streams, s.id)
	s.gone = true
	s.roomLocked()
	c.changed.Broadcast()
}
