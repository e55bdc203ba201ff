package gateway

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// errClientGone is the cause by which a stream's context ends when its client has left.
var errClientGone = errors.New("the client went away")

// maxUnasked is how many bytes a client may send after its request; they are thrown away.
const maxUnasked = 64 << 10

// takenTransport writes to a connection that was taken from net/http after the head of the answer: net/http can make a chunk
// of each frame only by a write of its own for each. The connection ends with the stream, as the head says.
type takenTransport struct {
	conn    net.Conn
	cancel  context.CancelCauseFunc // of the context that ends with the client
	reading sync.WaitGroup
	pending *buffer // chunks; nil: nothing waits for flush
	ended   bool
}

// canTakeOver tells whether the answer will be chunks on a connection of which every byte is ours. Bytes of a request's body
// that have not been read would belong to net/http.
func canTakeOver(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.TLS == nil && r.ContentLength == 0 && !isHead(r)
}

// takeOver takes the connection after the head has been sent. The context it returns ends also when the client goes away.
// An error that is http.ErrNotSupported leaves everything as it was.
func takeOver(ctx context.Context, w http.ResponseWriter, stall time.Duration) (*takenTransport, context.Context, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, ctx, err
	}
	// net/http keeps these two until its handler returns: without their 8 KiB an idle watch costs a third less.
	*buffered.Reader, *buffered.Writer = bufio.Reader{}, bufio.Writer{}
	ctx, cancel := context.WithCancelCause(ctx)
	t := &takenTransport{conn: limitedConn{conn, stall}, cancel: cancel}
	t.reading.Go(func() { awaitClient(conn, cancel) })
	return t, ctx, nil
}

// awaitClient reads until the connection ends: that is how a client that has gone is noticed while nothing is written.
func awaitClient(conn net.Conn, gone context.CancelCauseFunc) {
	scrap := make([]byte, 128)
	for received := 0; received < maxUnasked; {
		n, err := conn.Read(scrap)
		if err != nil {
			break
		}
		received += n
	}
	gone(errClientGone)
}

func (t *takenTransport) frame(line []byte) error {
	if t.pending == nil {
		t.pending = getBuffer()
	}
	chunks := strconv.AppendUint(t.pending.bytes, uint64(len(line)), 16)
	chunks = append(chunks, "\r\n"...)
	chunks = append(chunks, line...)
	t.pending.bytes = append(chunks, "\r\n"...)
	return nil
}

func (t *takenTransport) flush() error {
	if t.pending == nil {
		return nil
	}
	_, err := t.conn.Write(t.pending.bytes)
	t.pending.put()
	t.pending = nil
	return err
}

func (t *takenTransport) end() error {
	if t.pending == nil {
		t.pending = getBuffer()
	}
	t.pending.bytes = append(t.pending.bytes, "0\r\n\r\n"...)
	err := t.flush()
	t.ended = err == nil
	return err
}

func (t *takenTransport) close() {
	if !t.ended {
		dropUnsent(t.conn)
	}
	_ = t.conn.Close() // nothing is left to be done with it
	t.reading.Wait()
	t.cancel(context.Canceled)
}

// limitedConn is a connection whose writes fail when the client has taken nothing for some time.
type limitedConn struct {
	net.Conn
	stall time.Duration
}

func (c limitedConn) Write(p []byte) (int, error) {
	written := 0
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
	}
}

// NetConn is the connection below, as crypto/tls calls it.
func (c limitedConn) NetConn() net.Conn { return c.Conn }

// dropUnsent makes Close reset the connection: what a client did not take in time must not stay in the system's memory.
func dropUnsent(conn net.Conn) {
	for {
		upper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = upper.NetConn()
	}
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already has nothing unsent
	}
}
