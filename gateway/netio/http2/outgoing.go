package http2

import h2 "golang.org/x/net/http2"

// outgoing parses the bytes that net/http writes, to find the ends of frames, where frames of hijacked streams may be inserted.
type outgoing struct {
	header frameHeader
	have   int  // bytes of header that are parsed
	left   int  // bytes of the frame's payload that follow
	block  bool // the next frame must follow directly (RFC 9113, section 4.3)
}

// within reports whether net/http is in the middle of a frame, or of a block of header fields.
func (o *outgoing) within() bool { return o.have > 0 || o.block }

// pass parses p up to the end of a frame. It returns the number of bytes parsed, and whether the frame has ended.
func (o *outgoing) pass(p []byte) (n int, ended bool) {
	if o.have < headerSize {
		n = copy(o.header[o.have:], p)
		if o.have += n; o.have < headerSize {
			return n, false
		}
		o.left = o.header.length()
	}
	payload := min(o.left, len(p)-n)
	o.left -= payload
	if n += payload; o.left > 0 {
		return n, false
	}
	o.have = 0
	if o.header.isBlock() {
		o.block = !o.header.endsBlock()
	}
	return n, true
}

// passLocked parses bytes that net/http writes, updates the windows and the streams, and returns the number of bytes parsed. If end is
// true, it stops at the first position where other frames may be inserted.
func (c *Conn) passLocked(p []byte, end bool) (n int) {
	for n < len(p) {
		passed, ended := c.out.pass(p[n:])
		n += passed
		if !ended {
			continue
		}
		c.onFrameLocked(&c.out.header)
		if end && !c.out.within() {
			break
		}
	}
	return n
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
		c.dropLocked(s)
	}
}
