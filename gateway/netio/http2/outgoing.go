package http2

import h2 "golang.org/x/net/http2"

// outgoing parses what net/http writes, to find the ends of frames: there the frames of taken streams may be inserted.
type outgoing struct {
	header frameHeader
	have   int  // bytes of it that have been seen
	left   int  // bytes of the frame that come after it
	block  bool // the next frame belongs to this one (RFC 9113, section 4.3)
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

// passLocked follows what net/http writes, up to where something else may be sent if end, and keeps account of it.
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
