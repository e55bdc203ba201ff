package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"revtail/gateway/netio/buffer"
)

// errClientGone is the cause by which a stream's context ends when its client has left.
var errClientGone = errors.New("the client went away")

// maxUnasked is how many bytes a client may send after its request; they are thrown away.
const maxUnasked = 64 << 10

// takenTransport writes to a connection that was taken from net/http after the head of the answer: net/http can make a chunk
// of each frame only by a write of its own for each. The connection ends with the stream, as the head says.
type takenTransport struct {
	conn    limitedConn
	gone    context.CancelCauseFunc // ends the stream's context
	reading sync.WaitGroup
	attends bool
	refused bool           // no writer wants the connection
	pending *buffer.Buffer // chunks; nil: nothing waits for flush
	ended   bool
}

// canTakeOver tells whether the answer will be chunks on a connection of which every byte is ours. Bytes of a request's body
// that have not been read would belong to net/http.
func canTakeOver(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.ContentLength == 0 && !isHead(r)
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
	boundUnsent(lowest(conn))
	t, ctx := newTakenTransport(ctx, conn, stall)
	return t, ctx, nil
}

// newTakenTransport writes to a connection. The context it returns ends also when the client goes away.
func newTakenTransport(ctx context.Context, conn net.Conn, stall time.Duration) (*takenTransport, context.Context) {
	ctx, gone := context.WithCancelCause(ctx)
	return &takenTransport{conn: limitedConn{conn, stall}, gone: gone}, ctx
}

// attend begins to notice when the client goes away.
func (t *takenTransport) attend() {
	if t.attends {
		return
	}
	t.attends = true
	t.reading.Go(func() {
		if awaitClient(t.conn.Conn) {
			t.gone(errClientGone)
		}
	})
}

// hand implements lender.
func (t *takenTransport) hand(wt *watch) bool {
	t.refused = t.refused || !wt.server.writers.adopt(wt, t.release())
	return !t.refused
}

// cut implements road.
func (t *takenTransport) cut() { cutConn(t.conn) }

// cutConn closes a connection that somebody may be using, who finds out; TLS would say good-bye first, and wait for that.
func cutConn(conn net.Conn) {
	dropUnsent(conn)
	_ = lowest(conn).Close() // there is nobody to tell
}

// release stops what attend has begun, and lets go of the connection.
func (t *takenTransport) release() net.Conn {
	if t.attends {
		_ = t.conn.SetReadDeadline(time.Unix(1, 0)) // a connection that is gone shows that to whoever uses it next
		t.reading.Wait()
		_ = t.conn.SetReadDeadline(time.Time{})
		t.attends = false
	}
	return t.conn.Conn
}

// awaitClient reads until the connection ends: that is how a client that has gone is noticed while nothing is written. False:
// somebody has put an end to the reading.
func awaitClient(conn net.Conn) (gone bool) {
	scrap := make([]byte, 128)
	for received := 0; received < maxUnasked; {
		n, err := conn.Read(scrap)
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		received += n
	}
	return true
}

func (t *takenTransport) frame(line []byte) error {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = appendChunk(t.pending.Bytes, line)
	return nil
}

// lastChunk ends a chunked body (RFC 9112, section 7.1).
const lastChunk = "0\r\n\r\n"

func appendChunk(dst, line []byte) []byte {
	dst = append(strconv.AppendUint(dst, uint64(len(line)), 16), "\r\n"...)
	dst = append(dst, line...)
	return append(dst, "\r\n"...)
}

func (t *takenTransport) flush() error {
	if t.pending == nil {
		return nil
	}
	_, err := t.conn.Write(t.pending.Bytes)
	t.pending.Put()
	t.pending = nil
	return err
}

func (t *takenTransport) end() error {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = append(t.pending.Bytes, lastChunk...)
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
	t.gone(context.Canceled)
}

// limitedConn is a connection whose writes fail when the client has taken nothing for some time.
type limitedConn struct {
	net.Conn
	stall time.Duration
}

// stallSteps is how many deadlines the time limit is made of: a write that ends by one of them has taken something since, or not.
const stallSteps = 30

func (c limitedConn) Write(p []byte) (int, error) {
	written, taken := 0, time.Now()
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.step())); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(c.piece(p[written:]))
		written += n
		if n > 0 {
			taken = time.Now()
		}
		switch {
		case err == nil && written < len(p):
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return written, err
		case c.secured() || time.Since(taken) >= c.stall:
			return written, fmt.Errorf("%w: %w", errStalled, err)
		}
	}
}

// secured tells whether the connection is of no use after a deadline has passed, however much was written before.
func (c limitedConn) secured() bool {
	_, secured := c.Conn.(*tls.Conn)
	return secured
}

func (c limitedConn) step() time.Duration {
	if c.secured() {
		return c.stall
	}
	return c.stall / stallSteps
}

// piece is how much is written with one deadline.
func (c limitedConn) piece(p []byte) []byte {
	if c.secured() {
		return p[:min(len(p), tlsPiece)]
	}
	return p
}

// tlsPiece is some records of TLS.
const tlsPiece = 64 << 10

// NetConn is the connection below, as crypto/tls calls it.
func (c limitedConn) NetConn() net.Conn { return c.Conn }

// dropUnsent makes Close reset the connection: what a client did not take in time must not stay in the system's memory.
func dropUnsent(conn net.Conn) {
	if tcp, ok := lowest(conn).(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already has nothing unsent
	}
}

// lowest is the connection that all others stand on.
func lowest(conn net.Conn) net.Conn {
	for {
		upper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = upper.NetConn()
	}
}
