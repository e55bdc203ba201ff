package http2

import (
	"encoding/binary"
	"errors"
	"io"
	"net/textproto"
	"strconv"

	h2 "golang.org/x/net/http2"
)

const (
	prefaceSize = len(h2.ClientPreface)
	// defaultFrame is the frame size that every client accepts.
	defaultFrame = 16 << 10
	// maxSettings is larger than the number of settings that net/http accepts in one frame. maxStreams is larger than the number of streams
	// that it accepts on one connection, and defaultStreams is that number if the server does not configure it.
	maxSettings    = 100
	settingSize    = 6
	resetSize      = 4
	maxStreams     = 4096
	defaultStreams = 250
)

var errWindow = errors.New("http2: the client grants more than there may be")

// streamField is the header field that names the stream of a request. incoming adds it to the header fields that the client sends.
const streamField = "revtail-stream"

var streamHeader = textproto.CanonicalMIMEHeaderKey(streamField)

// incoming parses the frames that the client sends to net/http, and changes some of them so that streams can be hijacked. Only Conn.Read
// uses it.
type incoming struct {
	conn *Conn

	give   []byte // bytes that net/http reads next
	pass   int    // number of bytes that it then reads unchanged
	insert []byte // bytes that it reads after them

	header    frameHeader
	increment [4]byte // memory of windowUpdate
	last      uint32  // the newest stream
	block     *Stream // a new stream whose header fields are being read; nil: none, or the fields of another stream
}

func (in *incoming) read(p []byte) (int, error) {
	for len(p) > 0 {
		switch {
		case len(in.give) > 0:
			n := copy(p, in.give)
			in.give = in.give[n:]
			return n, nil
		case in.pass > 0:
			n, err := in.conn.secure.Read(p[:min(len(p), in.pass)])
			in.pass -= n
			return n, err
		case len(in.insert) > 0:
			in.give, in.insert = in.insert, nil
		default:
			if err := in.next(); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// next reads the header of a frame, and the part of its payload that incoming needs.
func (in *incoming) next() error {
	if err := in.readFull(in.header[:]); err != nil {
		return err
	}
	h := &in.header
	in.conn.awaitStranger(in.conn.writing)
	switch h.kind() {
	case h2.FrameData:
		in.conn.awaitStranger(in.conn.serving)
	case h2.FrameHeaders:
		in.block = in.begin(h)
		in.fields()
		return nil
	case h2.FrameContinuation:
		in.fields()
		return nil
	case h2.FrameWindowUpdate:
		return in.windowUpdate()
	case h2.FrameSettings:
		return in.settings()
	case h2.FrameRSTStream:
		return in.reset()
	}
	in.passOn()
	return nil
}

// passOn passes the frame to net/http unchanged.
func (in *incoming) passOn() { in.give, in.pass = in.header[:], in.header.length() }

func (in *incoming) readFull(p []byte) error {
	_, err := io.ReadFull(in.conn.secure, p)
	return err
}

// begin adds a stream; nil: the stream is not new, or net/http will reject it.
func (in *incoming) begin(h *frameHeader) *Stream {
	id := h.stream()
	if id <= in.last || id%2 == 0 {
		return nil
	}
	in.last = id
	c := in.conn
	c.awaitStranger(c.full)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.streams) >= maxStreams {
		return nil
	}
	s := &Stream{conn: c, id: id, window: c.initial, requested: h.endsStream()}
	c.streams[id] = s
	return s
}

// fields appends streamField to the header fields of a new stream, in a CONTINUATION frame. A literal field without indexing (RFC 7541,
// section 6.2.2) is valid after any other field.
func (in *incoming) fields() {
	s := in.block
	if s == nil || !in.header.endsBlock() {
		in.passOn()
		return
	}
	in.block = nil
	field := appendField(nil, streamField, strconv.AppendUint([]byte(in.conn.secret), uint64(s.id), 10))
	in.insert = appendFrame(nil, h2.FrameContinuation, h2.FlagContinuationEndHeaders, s.id, field)
	in.header.clear(h2.FlagHeadersEndHeaders)
	in.passOn()
}

// appendField appends a header field to dst. name and value must not be longer than 126 bytes.
func appendField(dst []byte, name string, value []byte) []byte {
	dst = append(dst, 0, byte(len(name)))
	dst = append(dst, name...)
	dst = append(dst, byte(len(value)))
	return append(dst, value...)
}

// windowUpdate withholds from net/http the window that the client grants to a hijacked stream, and a part of the window that it grants to
// the connection.
func (in *incoming) windowUpdate() error {
	h := in.header
	if h.length() != 4 {
		in.passOn()
		return nil
	}
	if err := in.readFull(in.increment[:]); err != nil {
		return err
	}
	granted := int64(binary.BigEndian.Uint32(in.increment[:]) & maxWindow)
	theirs, err := in.conn.grant(h.stream(), granted)
	if err != nil {
		return err
	}
	if theirs > 0 || granted == 0 { // net/http handles the error of an increment of zero
		in.give = binary.BigEndian.AppendUint32(append([]byte(nil), h[:]...), uint32(theirs))
	}
	return nil
}

// grant adds n bytes to the window of a stream, or of the connection if stream is 0. theirs is how many of them net/http gets.
func (c *Conn) grant(stream uint32, n int64) (theirs int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream == 0 {
		theirs, ok := c.window.grant(n)
		if !ok {
			return 0, errWindow
		}
		if c.window.ours() > 0 {
			c.notifyLocked()
		}
		return theirs, nil
	}
	s := c.streams[stream]
	if s == nil {
		return n, nil
	}
	s.window += n
	if !s.taken {
		return n, nil
	}
	if s.window > maxWindow {
		return 0, errWindow
	}
	if s.window > 0 {
		s.notifyLocked()
	}
	return 0, nil
}

// settings applies the client's settings and passes them to net/http.
func (in *incoming) settings() error {
	h := in.header
	size := h.length()
	if h.has(h2.FlagSettingsAck) || h.stream() != 0 || size%settingSize != 0 || size > maxSettings*settingSize {
		in.passOn() // it has no settings, or net/http rejects it
		return nil
	}
	frame := append(make([]byte, 0, headerSize+size), h[:]...)[:headerSize+size]
	payload := frame[headerSize:]
	if err := in.readFull(payload); err != nil {
		return err
	}
	for ; len(payload) > 0; payload = payload[settingSize:] {
		in.conn.setting(h2.SettingID(binary.BigEndian.Uint16(payload)), binary.BigEndian.Uint32(payload[2:]))
	}
	in.give = frame
	return nil
}

// setting applies one setting. net/http rejects invalid values.
func (c *Conn) setting(id h2.SettingID, value uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch id {
	case h2.SettingInitialWindowSize:
		grown := int64(value) - c.initial // applies to existing streams too (RFC 9113, section 6.9.2)
		c.initial += grown
		for _, s := range c.streams {
			s.window += grown
		}
		c.notifyLocked()
	case h2.SettingMaxFrameSize:
		c.size = min(max(int(value), defaultFrame), maxFrames)
	}
}

// reset ends a stream that the client has reset. net/http does not learn of it if the stream is hijacked, because its handler may have
// returned, or keeps the connection open.
func (in *incoming) reset() error {
	h := in.header
	c := in.conn
	c.mu.Lock()
	s := c.streams[h.stream()]
	hijacked := s != nil && s.taken
	if s != nil {
		s.endLocked()
		// net/http writes no more frames of a stream that it knows to be reset. A stranger's stream counts until its handler has returned.
		s.returned = s.returned || !hijacked && (s.handled || c.stranger.IsKnown())
		s.forgetLocked()
	}
	c.mu.Unlock()
	if !hijacked || h.length() != resetSize {
		in.passOn()
		return nil
	}
	var code [resetSize]byte
	return in.readFull(code[:])
}
