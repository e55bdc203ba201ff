package http2

import (
	"crypto/rand"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"revtail/gateway/netio/buffer"
)

// mostFrames is how many bytes of taken streams a connection holds that the system has not got yet: a writer fills it, and goes on
// when it is empty again. More would make writes hardly cheaper.
const mostFrames = 128 << 10

// Below is what TLS stands on, of a connection whose streams can be taken.
type Below interface {
	net.Conn
	// Divert has what TLS writes go to sink, from now on and for good; Close calls sink.Flush first. What it returns writes to the
	// client: conn until everything is written, or fails when nothing has been taken for some time; raw without waiting. After an
	// error everything is as it was.
	Divert(sink Sink) (conn net.Conn, raw syscall.RawConn, err error)
}

// Sink takes what TLS writes.
type Sink interface {
	Write(p []byte) (int, error)
	Flush()
}

// Conn is a connection between net/http, which reads and writes it as one of TLS, and TLS.
type Conn struct {
	secure net.Conn // a tls.Conn
	number uint64
	secret string // in the name that a stream is told its handler by; no client knows it
	in     incoming

	outbox outbox

	mu      sync.Mutex // guards the fields below; before outbox.mu
	changed sync.Cond  // broadcast when a stream has begun or is gone, the outbox is empty, or err is set
	out     outgoing
	window  window
	initial int64 // window of a new stream
	size    int   // of a frame, at most
	streams map[uint32]*Stream
	frames  *buffer.Buffer // of taken streams, not sealed yet; nil: none
	err     error          // of a write; nothing is sent after it
}

var conns atomic.Uint64

// newConn is nil for a connection that stands on something else than a Below.
func newConn(secure *tls.Conn) *Conn {
	below, ok := secure.NetConn().(Below)
	if !ok {
		return nil
	}
	c := &Conn{
		secure: secure, number: conns.Add(1), secret: rand.Text()[:8],
		window: newWindow(), initial: defaultWindow, size: defaultFrame, streams: make(map[uint32]*Stream),
	}
	c.changed.L = &c.mu
	c.in = incoming{conn: c, pass: prefaceSize}
	conn, raw, err := below.Divert(&c.outbox)
	if err != nil {
		return nil
	}
	c.outbox.conn, c.outbox.push, c.outbox.drained = conn, newPusher(raw), c.drained
	return c
}

// Number tells the connection from others of the process.
func (c *Conn) Number() uint64 { return c.number }

// Write implements net.Conn, for net/http: it returns when the system has got everything, also what was sent on taken streams before.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaitLocked()
	held := c.frames != nil // and may be as much as there may be
	n := 0
	if c.out.within() {
		n = c.passLocked(p, true)
		c.sealLocked(p[:n])
	}
	c.sealFramesLocked() // before anything that may end one of their streams
	if rest := p[n:]; len(rest) > 0 {
		c.passLocked(rest, false)
		c.sealLocked(rest)
	}
	c.sealFramesLocked()
	c.outbox.Flush()
	if held && c.frames == nil {
		c.roomLocked()
	}
	c.awaitLocked()
	if c.err != nil {
		return 0, c.err
	}
	return len(p), nil
}

// awaitLocked waits until the system takes something again.
func (c *Conn) awaitLocked() {
	for c.err == nil && c.outbox.busy() {
		c.changed.Wait()
	}
}

func (c *Conn) sealLocked(p []byte) {
	if c.err != nil || len(p) == 0 {
		return
	}
	if _, err := c.secure.Write(p); err != nil {
		c.failLocked(err)
	}
}

// sealFramesLocked seals what waits of taken streams, unless net/http is in the middle of a frame: then it does that when it is through.
func (c *Conn) sealFramesLocked() {
	if c.frames == nil || c.out.within() {
		return
	}
	c.sealLocked(c.frames.Bytes)
	c.frames.Put()
	c.frames = nil
}

// Flush sends what has been sent on the connection's streams. It does not wait.
func (c *Conn) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked()
}

func (c *Conn) flushLocked() {
	if c.frames != nil {
		c.sealFramesLocked()
		c.outbox.Flush()
	}
}

// Draining tells whether what was flushed is being written: who waits for that need not look whether it goes on.
func (c *Conn) Draining() bool { return c.outbox.busy() }

// drained is called when the system has taken everything, or never will.
func (c *Conn) drained(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failLocked(err)
		_ = c.outbox.conn.Close() // net/http reads the end of it, and ends what it serves
		return
	}
	c.changed.Broadcast()
	c.roomLocked()
}

func (c *Conn) failLocked(err error) {
	if c.err == nil {
		c.err = err
	}
	c.changed.Broadcast()
	c.roomLocked()
}

// roomLocked tells the streams that wait that there may be room.
func (c *Conn) roomLocked() {
	for _, s := range c.streams {
		s.roomLocked()
	}
}

// Read implements net.Conn, for net/http.
func (c *Conn) Read(p []byte) (int, error) { return c.in.read(p) }

// readSecure reads what TLS has. What that answers by itself leaves at once.
func (c *Conn) readSecure(p []byte) (int, error) {
	n, err := c.secure.Read(p)
	if c.outbox.waits() {
		c.outbox.Flush()
	}
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	err := c.secure.Close()
	c.mu.Lock()
	c.failLocked(net.ErrClosed)
	c.mu.Unlock()
	c.outbox.close()
	return err
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.secure.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.secure.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.secure.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn: how long a write may take is for Below to say.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }
