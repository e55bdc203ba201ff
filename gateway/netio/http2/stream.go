package http2

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	h2 "golang.org/x/net/http2"

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
	window    int64
	requested bool  // the client has sent all of its request
	begun     bool  // the header of the response is sent
	gone      bool  // the stream has ended
	taken     bool  // Take has hijacked the stream
	returned  bool  // net/http has ended the stream
	handled   bool  // the handler has returned
	waits     bool  // Send or Ready has found too little room
	listed    bool  // the stream is in waiting of its connection
	owner     Owner // nil: none
}

// Owner writes the body of a hijacked stream. Any goroutine may call its methods, which must neither block nor call methods of a stream or a
// connection.
type Owner interface {
	// OnRoom is called once after Stream.Send or Stream.Ready has found too little room, when there may be more.
	OnRoom()
	// OnEnd is called once when the client or the connection ends the stream.
	OnEnd()
}

// Conn returns the stream's connection.
func (s *Stream) Conn() *Conn { return s.conn }

// available reports whether the stream can be hijacked.
func (s *Stream) available() bool {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.requested && c.taken < c.limit && c.window.ours() >= minWindow
}

// Take hijacks the stream: Send then writes the body of the response, and End or Reset ends it. The handler must have flushed the header,
// and must not write. It may return while the stream is open. Take blocks until the header is written. It fails if the stream has ended.
func (s *Stream) Take() error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.begun && !s.gone && c.err == nil {
		c.changed.Wait()
	}
	if err := s.endedLocked(); err != nil {
		return err
	}
	s.taken = true
	c.taken++
	return nil
}

// keepOpen is called when the handler of the stream has returned. The first handler whose stream is hijacked waits until the connection has no
// hijacked streams, because net/http, which does not know that these are open, would close the connection when it is idle or shuts down.
func (s *Stream) keepOpen() {
	c := s.conn
	c.mu.Lock()
	if !s.taken || c.taken == 0 || c.err != nil || c.keeper != nil {
		c.mu.Unlock()
		return
	}
	none := make(chan struct{})
	c.keeper, c.kept = none, s
	c.mu.Unlock()
	<-none
}

// SetOwner replaces the owner of the stream. If the stream has ended already, SetOwner calls owner.OnEnd.
func (s *Stream) SetOwner(owner Owner) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.owner, s.waits = owner, false
	s.notifyLocked()
}

// End ends the response after all bytes that were sent, and removes the owner. It does not block. It does nothing if the stream has ended.
func (s *Stream) End() { s.finish(h2.FrameData, h2.FlagDataEndStream, nil) }

// Reset breaks the response like a handler that panics, and removes the owner. It does not block. It does nothing if the stream has ended.
func (s *Stream) Reset() {
	s.finish(h2.FrameRSTStream, 0, binary.BigEndian.AppendUint32(nil, uint32(h2.ErrCodeInternal)))
}

// finish sends the last frame of the stream.
func (s *Stream) finish(kind h2.FrameType, flags h2.Flags, payload []byte) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	s.owner = nil
	if s.endedLocked() != nil {
		return
	}
	if c.frames == nil {
		c.frames = buffer.Get()
	}
	c.frames.Bytes = appendFrame(c.frames.Bytes, kind, flags, s.id, payload)
	c.flushLocked()
	s.endLocked()
	s.forgetLocked()
}

// Send buffers as much of data as the windows and the connection have room for, and returns the number of bytes; Conn.Flush writes them. If
// n is less than len(data) without an error, Owner.OnRoom is called when there may be room. Send fails if the stream has ended or
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
		c.frames.Bytes = appendFrame(c.frames.Bytes, h2.FrameData, 0, s.id, piece)
		s.window -= int64(len(piece))
		c.window.spendOurs(int64(len(piece)))
		n += len(piece)
	}
	return n, nil
}

// Ready reports whether Send would send at least one byte, or fail. If not, Owner.OnRoom is called when there may be room.
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
		s.waitLocked()
		return 0, nil
	}
	return int(room), nil
}

// waitLocked makes notifyLocked notify the stream.
func (s *Stream) waitLocked() {
	s.waits = true
	if !s.listed {
		s.listed = true
		s.conn.waiting = append(s.conn.waiting, s)
	}
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

// notifyLocked calls the method of the owner that is due.
func (s *Stream) notifyLocked() {
	switch {
	case s.owner == nil:
	case s.endedLocked() != nil:
		s.owner.OnEnd()
		s.owner = nil
	case s.waits:
		s.waits = false
		s.owner.OnRoom()
	}
}

// stream returns the stream that a value of streamField names; nil: the stream has ended.
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
	return c.streams[uint32(id)]
}

// endLocked records that the stream has ended for its sender and its client.
func (s *Stream) endLocked() {
	if s.gone {
		return
	}
	s.gone = true
	s.notifyLocked()
	c := s.conn
	if s.listed { // otherwise a client that opens and resets streams would fill the memory
		c.waiting = slices.DeleteFunc(c.waiting, func(other *Stream) bool { return other == s })
	}
	c.changed.Broadcast()
	if s.taken {
		if c.taken--; c.taken == 0 {
			c.releaseLocked()
		}
	}
}

// forgetLocked removes a stream that has ended, also for net/http.
func (s *Stream) forgetLocked() {
	if s.gone && s.returned {
		delete(s.conn.streams, s.id)
		s.conn.changed.Broadcast()
	}
}

// releaseLocked lets the handler of keepOpen return.
func (c *Conn) releaseLocked() {
	if c.keeper != nil {
		close(c.keeper)
		c.keeper = nil
	}
}
