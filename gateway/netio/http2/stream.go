package http2

import (
	"errors"
	"strconv"
	"strings"

	"revtail/gateway/netio/buffer"
)

// minWindow is how many bytes of a connection's window must be available to hijacked streams when a stream is hijacked. A client that never
// grants more than the default leaves the whole window to net/http.
const minWindow = 16 << 10

// errGone is the error of a stream that has ended.
var errGone = errors.New("http2: the stream has ended")

// Stream is one request and its response. Any goroutine may call its methods.
type Stream struct {
	conn *Conn
	id   uint32

	// The connection's mutex guards the fields below.
	window int64
	begun  bool // the header of the response is sent
	gone   bool // the stream has ended
	taken  bool // Take has hijacked the stream
	waits  bool // Send or Ready has found too little room
	room   func()
}

// Conn returns the stream's connection.
func (s *Stream) Conn() *Conn { return s.conn }

// Take hijacks the stream: Send then writes the body of the response. The handler must have flushed the header, and must not write. When
// the handler returns, net/http ends the stream after all bytes that were sent. Take blocks until the header is written. It fails if the
// stream has ended.
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

// OnRoom sets the function f that is called once after Send or Ready has found too little room, when there may be more or the stream has
// ended. f must neither block nor call methods of the stream or its connection. A nil f removes the function.
func (s *Stream) OnRoom(f func()) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.room = f
	s.waits = false
}

// Send buffers as much of data as the windows and the connection have room for, and returns the number of bytes; Conn.Flush writes them. If
// n is less than len(data) without an error, the function of OnRoom is called when there may be room. Send fails if the stream has ended or
// the connection is broken. It does not block and does not keep data.
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

// Ready reports whether Send would send at least one byte, or fail. If not, the function of OnRoom is called when there may be room.
func (s *Stream) Ready() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	room, err := s.readyLocked()
	return room > 0 || err != nil
}

// readyLocked returns the largest size of the next frame; zero: the stream waits for room.
func (s *Stream) readyLocked() (int, error) {
	c := s.conn
	if c.frames != nil && len(c.frames.Bytes) >= maxFrames {
		c.flushLocked()
	}
	if err := s.endedLocked(); err != nil {
		return 0, err
	}
	full := c.frames != nil && len(c.frames.Bytes) >= maxFrames || c.outbox.busy()
	room := min(s.window, c.window.ours(), int64(c.size))
	if full || room <= 0 {
		s.waits = true
		return 0, nil
	}
	return int(room), nil
}

// Ended returns the error that Send returns for an ended stream or a broken connection, and nil otherwise.
func (s *Stream) Ended() error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.endedLocked()
}

func (s *Stream) endedLocked() error {
	if s.conn.err != nil {
		return s.conn.err
	}
	if s.gone {
		return errGone
	}
	return nil
}

// notifyLocked calls the function of OnRoom if the stream waits for room.
func (s *Stream) notifyLocked() {
	if s.waits && s.room != nil {
		s.waits = false
		s.room()
	}
}

// stream returns the stream that a value of streamField names; nil: the stream has ended, or the client's window is too small.
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
	if c.window.ours() < minWindow {
		return nil
	}
	return c.streams[uint32(id)]
}

// dropLocked removes a stream that has ended.
func (c *Conn) dropLocked(s *Stream) {
	delete(c.streams, s.id)
	s.gone = true
	s.notifyLocked()
	c.changed.Broadcast()
}
