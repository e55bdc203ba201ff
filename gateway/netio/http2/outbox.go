package http2

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
)

// maxAnswers is how many bytes TLS may write by itself while the socket accepts nothing. TLS answers every KeyUpdate of a client (RFC 8446,
// section 4.6.3), and a client that sends them and reads no answers would fill the memory.
const maxAnswers = 16 << 10

var errAnswers = errors.New("http2: the client does not read what TLS answers")

// outbox is the Sink of a Conn. It holds the bytes that TLS has written and the socket has not accepted yet. Write and Flush do not block:
// a goroutine writes the bytes that the socket does not accept at once.
type outbox struct {
	conn    net.Conn // its writes block
	push    pusher   // its writes do not block
	drained func(error)

	mu       sync.Mutex     // guards the fields below
	sealed   *buffer.Buffer // nil: empty
	sealing  bool           // the Conn writes to TLS; otherwise TLS writes by itself
	answers  int            // bytes of sealed that TLS has written by itself
	draining bool
	closed   bool
	err      error          // of a write; nothing is written after it
	running  sync.WaitGroup // the goroutine of drain
}

// Write implements io.Writer, for TLS. It flushes the bytes that TLS writes by itself, and closes the connection if the client does not read
// them.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	if o.sealed == nil {
		o.sealed = buffer.Get()
	}
	o.sealed.Bytes = append(o.sealed.Bytes, p...)
	if o.sealing {
		return len(p), nil
	}
	if o.answers += len(p); o.answers > maxAnswers {
		o.err = errAnswers
		_ = o.conn.Close() // TLS goes on reading after a write that has failed
		return 0, o.err
	}
	o.flushLocked()
	return len(p), nil
}

// setSealing is called before and after the Conn writes to TLS. What TLS writes meanwhile is not its own.
func (o *outbox) setSealing(sealing bool) {
	o.mu.Lock()
	o.sealing = sealing
	o.mu.Unlock()
}

// Flush writes the bytes that the socket accepts now. A goroutine writes the rest and then calls drained.
func (o *outbox) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushLocked()
}

func (o *outbox) flushLocked() {
	if o.sealed == nil || o.draining || o.closed || o.err != nil {
		return
	}
	n, err := o.push.write(o.sealed.Bytes)
	o.answers = 0
	switch {
	case err != nil:
		o.err = err
	case n < len(o.sealed.Bytes):
		o.draining = true
		rest := o.sealed
		o.sealed = nil
		o.running.Go(func() { o.drain(rest, n) })
		return
	}
	o.sealed.Put()
	o.sealed = nil
}

// close waits for the goroutine of drain. The connection must be closed before, because that ends the goroutine.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.running.Wait()
}

// drain writes until the outbox is empty. It returns at the latest when the connection is closed.
func (o *outbox) drain(rest *buffer.Buffer, written int) {
	for rest != nil {
		_, err := o.conn.Write(rest.Bytes[written:])
		_ = o.conn.SetWriteDeadline(time.Time{}) // push would fail after a deadline
		rest.Put()
		rest, written = o.next(err), 0
	}
	o.drained(o.failed())
}

// next returns the bytes that TLS has written since the last call; nil: none, or the connection is broken.
func (o *outbox) next(err error) *buffer.Buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.err = err
	}
	rest := o.sealed
	o.sealed, o.answers = nil, 0
	if rest == nil || o.err != nil {
		o.draining = false
		return nil
	}
	return rest
}

func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// busy reports whether drain is running.
func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.draining
}

// pusher writes as many bytes as the socket accepts now.
type pusher struct {
	raw  syscall.RawConn
	data []byte
	n    int
	err  error
	try  func(fd uintptr) bool
}

func newPusher(raw syscall.RawConn) pusher { return pusher{raw: raw} }

func (p *pusher) write(data []byte) (int, error) {
	if p.try == nil {
		p.try = func(fd uintptr) bool {
			p.n, p.err = socket.Write(fd, p.data)
			return true
		}
	}
	p.data, p.n, p.err = data, 0, nil
	err := p.raw.Write(p.try)
	p.data = nil
	if err == nil {
		err = p.err
	}
	return p.n, err
}
