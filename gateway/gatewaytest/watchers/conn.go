package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"sync"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	headerSize = 9
	// streamWindow and connWindow are the windows that Go's client grants, and refresh the number of bytes after which it extends them.
	streamWindow = 4 << 20
	connWindow   = 1 << 30
	refresh      = 4 << 10
	// bufferSize is more than a frame has.
	bufferSize = 32 << 10
)

// conn is a connection with many watches. One goroutine reads it.
type conn struct {
	fleet  *fleet
	out    *sendBuffer // below TLS
	secure *tls.Conn

	mu      sync.Mutex // guards the fields below, and writes
	slots   []slot
	slotOf  []int16 // the slot of each stream, by half of its ID; -1: the client has left it
	encoder *hpack.Encoder
	block   bytes.Buffer // of encoder
	owed    uint32       // bytes that the window of the connection has not been extended by
	frames  []byte       // to write
}

// slot is a watcher, which opens its watch again after it has left.
type slot struct {
	stream  uint32 // of its watch
	owed    uint32 // as that of conn
	open    bool   // the gateway has answered
	events  int32  // since the start of the watcher
	last    int64  // revision of the last one
	partial []byte // the beginning of a line
}

// sendBuffer collects what TLS writes, so that several records leave in one write.
type sendBuffer struct {
	net.Conn
	mu      sync.Mutex
	pending []byte
}

// Write implements net.Conn.
func (b *sendBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = append(b.pending, p...)
	return len(p), nil
}

// Read implements net.Conn.
func (b *sendBuffer) Read(p []byte) (int, error) {
	if err := b.flush(); err != nil {
		return 0, err
	}
	return b.Conn.Read(p)
}

func (b *sendBuffer) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		return nil
	}
	_, err := b.Conn.Write(b.pending)
	b.pending = b.pending[:0]
	return err
}

// dial opens a connection, and as many watches on it.
func dial(ctx context.Context, f *fleet, watches int) (*conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", f.servers.address)
	if err != nil {
		return nil, err
	}
	c := &conn{fleet: f, out: &sendBuffer{Conn: raw}, slots: make([]slot, watches)}
	c.secure = tls.Client(c.out, f.servers.trust)
	if err := c.secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	c.encoder = hpack.NewEncoder(&c.block)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = append(c.frames, h2.ClientPreface...)
	c.frame(h2.FrameSettings, 0, 0, setting(setting(nil, h2.SettingEnablePush, 0), h2.SettingInitialWindowSize, streamWindow))
	c.frame(h2.FrameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, connWindow))
	for i := range c.slots {
		c.slots[i].last = f.start
		c.request(i)
	}
	if err := c.send(); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

func setting(dst []byte, id h2.SettingID, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, uint16(id)), value)
}

// frame adds a frame to those that send writes.
func (c *conn) frame(kind h2.FrameType, flags h2.Flags, stream uint32, payload []byte) {
	n := len(payload)
	c.frames = append(c.frames, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	c.frames = append(binary.BigEndian.AppendUint32(c.frames, stream), payload...)
}

// request adds the request of a watch after the last event of the watcher.
func (c *conn) request(i int) {
	s := &c.slots[i]
	s.stream, s.owed, s.open, s.partial = uint32(2*len(c.slotOf)+1), 0, false, nil
	c.slotOf = append(c.slotOf, int16(i))
	c.block.Reset()
	path := collection + "?watch=true&allowWatchBookmarks=true&resourceVersion=" + strconv.FormatInt(s.last, 10)
	for _, field := range [][2]string{{":authority", c.fleet.servers.address}, {":method", "GET"}, {":path", path}, {":scheme", "https"},
		{"accept", "application/json, */*"}, {"user-agent", "controller/v0.37.2 (linux/amd64) kubernetes/5b73a8f"}} {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // a bytes.Buffer has no error
	}
	c.frame(h2.FrameHeaders, h2.FlagHeadersEndHeaders|h2.FlagHeadersEndStream, s.stream, c.block.Bytes())
}

// leave ends the watch of a watcher, which then opens another one.
func (c *conn) leave(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.slots[i]
	if !s.open {
		return nil // it is opening
	}
	c.fleet.opened.Add(-1)
	c.slotOf[s.stream/2] = -1
	c.frame(h2.FrameRSTStream, 0, s.stream, binary.BigEndian.AppendUint32(nil, uint32(h2.ErrCodeCancel)))
	c.request(i)
	return c.send()
}

// send writes the added frames.
func (c *conn) send() error {
	if _, err := c.secure.Write(c.frames); err != nil {
		return err
	}
	c.frames = c.frames[:0]
	return c.out.flush()
}

// read reads until the connection ends, and returns the reason.
func (c *conn) read() error {
	buffer, n := make([]byte, bufferSize), 0
	for {
		got, err := c.secure.Read(buffer[n:])
		if err != nil {
			return err
		}
		used, err := c.take(buffer[:n+got])
		if err != nil {
			return err
		}
		n = copy(buffer, buffer[used:n+got])
	}
}

// take reads the frames that p has as a whole, and returns their length.
func (c *conn) take(p []byte) (used int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		rest := p[used:]
		if len(rest) < headerSize {
			break
		}
		end := headerSize + (int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2]))
		if len(rest) < end {
			break
		}
		stream := binary.BigEndian.Uint32(rest[5:]) & (1<<31 - 1)
		if err := c.onFrame(h2.FrameType(rest[3]), h2.Flags(rest[4]), stream, rest[headerSize:end]); err != nil {
			return used, err
		}
		used += end
	}
	return used, c.out.flush()
}

func (c *conn) onFrame(kind h2.FrameType, flags h2.Flags, stream uint32, payload []byte) error {
	switch kind {
	case h2.FrameGoAway:
		return fmt.Errorf("the gateway sent GOAWAY")
	case h2.FrameSettings, h2.FramePing:
		if flags.Has(h2.FlagSettingsAck) { // the same bit in both
			return nil
		}
		if kind == h2.FrameSettings {
			payload = nil
		}
		c.frame(kind, h2.FlagSettingsAck, 0, payload)
		return c.send()
	}
	if stream == 0 || int(stream/2) >= len(c.slotOf) {
		return nil
	}
	if kind == h2.FrameData {
		if err := c.extend(&c.owed, connWindow, 0, len(payload)); err != nil {
			return err
		}
	}
	i := c.slotOf[stream/2]
	if i < 0 {
		return nil // the client has left it
	}
	s := &c.slots[i]
	switch {
	case kind == h2.FrameRSTStream || flags.Has(h2.FlagDataEndStream) && (kind == h2.FrameData || kind == h2.FrameHeaders):
		return fmt.Errorf("the gateway ended stream %d", stream)
	case kind == h2.FrameHeaders && !answeredOK(payload):
		return fmt.Errorf("the gateway refused stream %d", stream)
	case kind == h2.FrameHeaders:
		s.open = true
		c.fleet.opened.Add(1)
	case kind == h2.FrameData:
		if err := c.extend(&s.owed, streamWindow, stream, len(payload)); err != nil {
			return err
		}
		return s.data(c.fleet, payload)
	}
	return nil
}

// answeredOK reports whether a block of header fields begins with the status 200, an indexed field of the static table (RFC 7541, appendix A).
func answeredOK(block []byte) bool { return len(block) > 0 && block[0] == 0x88 }

// extend extends a window, in a TLS record of its own as Go's client does.
func (c *conn) extend(owed *uint32, size, stream uint32, read int) error {
	*owed += uint32(read)
	if c.fleet.wide && *owed < size/2 || *owed < refresh {
		return nil
	}
	c.frame(h2.FrameWindowUpdate, 0, stream, binary.BigEndian.AppendUint32(nil, *owed))
	*owed = 0
	_, err := c.secure.Write(c.frames)
	c.frames = c.frames[:0]
	return err
}

var (
	newline         = []byte("\n")
	bookmark        = []byte(`{"type":"BOOKMARK"`)
	failure         = []byte(`{"type":"ERROR"`)
	resourceVersion = []byte(`"resourceVersion":"`)
)

// data reads a piece of the body of a watch.
func (s *slot) data(f *fleet, p []byte) error {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, newline)
		if !whole {
			s.partial = append(s.partial, line...)
			return nil
		}
		if len(s.partial) > 0 {
			line = append(s.partial, line...)
			s.partial = nil
		}
		p = rest
		if bytes.HasPrefix(line, bookmark) {
			continue
		}
		_, number, found := bytes.Cut(line, resourceVersion)
		number, _, _ = bytes.Cut(number[:min(20, len(number))], []byte(`"`))
		revision, err := strconv.ParseInt(string(number), 10, 64)
		switch {
		case !found || err != nil || bytes.HasPrefix(line, failure):
			return fmt.Errorf("a watcher got %.200q", line)
		case revision <= s.last:
			return fmt.Errorf("a watcher got revision %d after %d", revision, s.last)
		}
		s.last = revision
		s.events++
		f.seen(revision)
	}
	return nil
}
