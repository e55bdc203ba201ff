package http2

import (
	"bytes"

	h2 "golang.org/x/net/http2"
)

// outgoing parses the bytes that net/http writes, to find the ends of frames, where frames of hijacked streams may be inserted.
type outgoing struct {
	begun  []byte // the beginning of a frame's header, which is not sent before it is complete
	header frameHeader
	left   int  // bytes of the frame that follow
	drop   bool // the frame is not sent
	block  bool // the next frame must follow directly (RFC 9113, section 4.3)
}

// within reports whether net/http is in the middle of a frame, or of a block of header fields.
func (o *outgoing) within() bool { return o.left > 0 || o.block }

// begin parses the header of the frame that p begins with. If p does not contain all of it, begin keeps p and returns false.
func (o *outgoing) begin(p []byte) bool {
	if len(p) < headerSize {
		o.begun = bytes.Clone(p)
		return false
	}
	o.header = frameHeader(p)
	o.left = headerSize + o.header.length()
	return true
}

// pass skips the bytes of the frame that p begins with. It returns their number, and whether the frame has ended.
func (o *outgoing) pass(p []byte) (n int, ended bool) {
	n = min(o.left, len(p))
	if o.left -= n; o.left > 0 {
		return n, false
	}
	if o.header.isBlock() {
		o.block = !o.header.endsBlock()
	}
	return n, true
}

// passLocked sends bytes that net/http writes, except the ends of hijacked streams, and updates the windows and the streams. If end is true,
// it stops at the first position where other frames may be inserted, and returns the rest of p.
func (c *Conn) passLocked(p []byte, end bool) (rest []byte) {
	sent, n := 0, 0
	for n < len(p) {
		if c.out.left == 0 {
			if !c.out.begin(p[n:]) {
				c.sealLocked(p[sent:n])
				return nil
			}
			if c.out.drop = c.endsHijackedLocked(&c.out.header); c.out.drop {
				c.sealLocked(p[sent:n])
			}
		}
		passed, ended := c.out.pass(p[n:])
		if n += passed; c.out.drop {
			sent = n
		}
		if !ended {
			break
		}
		c.onFrameLocked(&c.out.header)
		if end && !c.out.within() {
			break
		}
	}
	c.sealLocked(p[sent:n])
	return p[n:]
}

// endsHijackedLocked reports whether a frame of net/http ends a stream because its handler has returned, although the stream is hijacked and
// stays open, or has ended already.
func (c *Conn) endsHijackedLocked(h *frameHeader) bool {
	s := c.streams[h.stream()]
	return s != nil && s.taken && h.endsStream() && (s.gone || h.kind() == h2.FrameData)
}

// onFrameLocked is called at the end of each frame that net/http writes.
func (c *Conn) onFrameLocked(h *frameHeader) {
	s := c.streams[h.stream()]
	if h.kind() == h2.FrameData {
		c.window.spend(int64(h.length()))
		if s != nil {
			s.window -= int64(h.length())
		}
	}
	if s == nil {
		return
	}
	if h.isBlock() && h.endsBlock() {
		s.begun = true
		c.changed.Broadcast()
	}
	if h.endsStream() {
		s.returned = true
		if !c.out.drop {
			s.endLocked()
		}
		s.forgetLocked()
	}
}
