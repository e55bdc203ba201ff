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
	"revtail/gateway/netio/stranger"
)

// maxFrames is how many bytes of frames of hijacked streams a connection buffers before it writes them to the socket. A sender that fills
// the buffer continues when it is empty. A larger buffer would hardly make writes cheaper.
const maxFrames = 128 << 10

// Below is the connection below TLS. Streams can be hijacked only if TLS uses a Below.
type Below interface {
	net.Conn
	// Divert makes the writes of TLS go to sink from now on; Close calls sink.Flush first. Divert returns two ways to write to the socket:
	// conn blocks until all bytes are written, and fails when the client accepts no bytes for the time limit of the Below; raw does not
	// block. After an error nothing has changed.
	Divert(sink Sink) (conn net.Conn, raw syscall.RawConn, err error)
}

// Sink receives the bytes that TLS writes.
type Sink interface {
	// Write buffers p. It does not block and does not keep p. It returns the error of an earlier write to the socket.
	Write(p []byte) (int, error)
	// Flush writes the buffered bytes to the socket. It does not block.
	Flush()
}

// Conn is the connection between net/http and TLS. net/http reads and writes it like a TLS connection. Any goroutine may call its methods,
// but only one may call Read.
type Conn struct {
	secure net.Conn // a *tls.Conn
	number uint64
	secret string // prefix of the value of streamField, because a client must not name another stream
	in     incoming

	stranger *stranger.Stranger

	outbox outbox

	mu      sync.Mutex // guards the fields below; locked before outbox.mu
	changed sync.Cond  // broadcast when a stream has begun or ended, the outbox is empty, or err is set
	out     outgoing
	window  window
	initial int64 // window of a new stream
	size    int   // of the largest frame that the client accepts
	streams map[uint32]*Stream
	waiting []*Stream      // streams with waits, and some without
	taken   int            // number of hijacked streams that have not ended
	limit   int            // of taken
	keeper  chan struct{}  // closed when taken becomes zero; nil: no handler waits
	kept    *Stream        // whose handler has waited last; nil: none has
	closed  bool           // Close was called
	frames  *buffer.Buffer // of hijacked streams, not encrypted yet; nil: none
	err     error          // of a write; nothing is sent after it
}

var conns atomic.Uint64

// newConn returns the Conn on top of a TLS connection, with at most limit hijacked streams; nil: TLS does not use a Below, or Divert has
// failed.
func newConn(secure *tls.Conn, limit int) *Conn {
	below, ok := secure.NetConn().(Below)
	if !ok {
		return nil
	}
	c := &Conn{
		secure: secure, number: conns.Add(1), secret: rand.Text()[:8],
		window: newWindow(), initial: defaultWindow, size: defaultFrame, streams: make(map[uint32]*Stream), limit: limit,
	}
	c.changed.L = &c.mu
	c.in = incoming{conn: c, pass: prefaceSize}
	c.stranger = stranger.Of(secure)
	conn, raw, err := below.Divert(&c.outbox)
	if err != nil {
		return nil
	}
	c.outbox.conn, c.outbox.push, c.outbox.drained = conn, newPusher(raw), c.drained
	c.stranger.OnKnown(c.wake)
	return c
}

// Number returns a number that is unique among the connections of the process.
func (c *Conn) Number() uint64 { return c.number }

// Write implements net.Conn, for net/http. It blocks until the socket has accepted p and all bytes that were sent on hijacked streams
// before.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaitLocked()
	held := c.frames != nil // senders may wait for the buffer
	rest := p
	if len(c.out.begun) > 0 {
		rest, c.out.begun = append(c.out.begun, p...), nil
	}
	if c.out.within() {
		rest = c.passLocked(rest, true)
	}
	c.sealFramesLocked() // before any frame that may end one of their streams
	c.passLocked(rest, false)
	c.sealFramesLocked()
	c.outbox.Flush()
	if held && c.frames == nil {
		c.notifyLocked()
	}
	c.awaitLocked()
	if c.err != nil {
		return 0, c.err
	}
	return len(p), nil
}

// awaitLocked waits until the outbox has no goroutine that writes, or a write has failed.
func (c *Conn) awaitLocked() {
	for c.err == nil && c.outbox.busy() {
		c.changed.Wait()
	}
}

func (c *Conn) sealLocked(p []byte) {
	if c.err != nil || len(p) == 0 {
		return
	}
	c.outbox.setSealing(true)
	_, err := c.secure.Write(p)
	c.outbox.setSealing(false)
	if err != nil {
		c.failLocked(err)
	}
}

// sealFramesLocked encrypts the frames of hijacked streams, unless net/http is in the middle of a frame: Write calls it again at the end of
// that frame.
func (c *Conn) sealFramesLocked() {
	if c.frames == nil || c.out.within() {
		return
	}
	c.sealLocked(c.frames.Bytes)
	c.frames.Put()
	c.frames = nil
}

// Flush writes the frames that Stream.Send has buffered. It does not block. Later calls of Stream.Send return the error of the write.
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

// Draining reports whether flushed bytes are still being written. The time limit of that write is the limit of the Below.
func (c *Conn) Draining() bool { return c.outbox.busy() }

// drained is called when the socket has accepted all bytes, or with the error of the write.
func (c *Conn) drained(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failLocked(err)
		_ = c.outbox.conn.Close() // net/http's Read fails then, and net/http ends its requests
		return
	}
	c.changed.Broadcast()
	c.notifyLocked()
}

func (c *Conn) failLocked(err error) {
	if c.err == nil {
		c.err = err
	}
	c.releaseLocked()
	c.changed.Broadcast()
	c.notifyLocked()
}

// notifyLocked notifies the streams that wait for room, or all streams after an error.
func (c *Conn) notifyLocked() {
	if c.err != nil {
		for _, s := range c.streams {
			s.notifyLocked()
		}
		return
	}
	waiting := c.waiting
	c.waiting = nil
	for _, s := range waiting {
		s.listed = false
		s.notifyLocked()
	}
}

// Read implements net.Conn, for net/http.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	if err != nil {
		c.endReading(err)
	}
	return n, err
}

// endReading is called when the client is gone. It waits until net/http has ended the stream of keepOpen, because net/http would keep a connection
// that ends with an open stream in memory for the idle timeout: it stops the idle timer, and starts it again when it closes the stream.
func (c *Conn) endReading(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
	for c.kept != nil && !c.kept.returned && !c.closed {
		c.changed.Wait()
	}
}

// Close implements net.Conn. It makes Stream.Send fail, and waits for the goroutine that writes.
func (c *Conn) Close() error {
	err := c.secure.Close()
	c.mu.Lock()
	c.closed = true
	c.failLocked(net.ErrClosed)
	c.mu.Unlock()
	c.outbox.close()
	return err
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.secure.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.secure.RemoteAddr() }

// SetDeadline implements net.Conn. It sets only the read deadline.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.secure.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. It does nothing, because Below limits the time of writes.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }
