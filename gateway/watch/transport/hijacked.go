package transport

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
)

// MaxClientBytes is how many bytes a client may send after its request; they are thrown away.
const MaxClientBytes = 64 << 10

// hijackedTransport writes to a connection that was taken from net/http after the head of the answer: net/http can make a chunk
// of each frame only by a write of its own for each. The connection ends with the stream, as the head says.
type hijackedTransport struct {
	conn         socket.DeadlineConn
	gone         context.CancelCauseFunc // ends the stream's context
	reading      sync.WaitGroup
	detectsClose bool
	pending      *buffer.Buffer // chunks; nil: nothing waits for flush
	ended        bool
}

// canHijack tells whether the answer will be chunks on a connection of which every byte is ours. Bytes of a request's body
// that have not been read would belong to net/http.
func canHijack(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.ContentLength == 0 && !request.IsHead(r)
}

// hijack takes the connection after the head has been sent. The context it returns ends also when the client goes away.
// An error that is http.ErrNotSupported leaves everything as it was.
func hijack(ctx context.Context, w http.ResponseWriter, limit time.Duration) (*hijackedTransport, context.Context, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, ctx, err
	}
	// net/http keeps these two until its handler returns: without their 8 KiB an idle watch costs a third less.
	*buffered.Reader, *buffered.Writer = bufio.Reader{}, bufio.Writer{}
	socket.LimitUnsent(socket.Base(conn))
	t, ctx := newHijackedTransport(ctx, conn, limit)
	return t, ctx, nil
}

// newHijackedTransport writes to a connection. The context it returns ends also when the client goes away.
func newHijackedTransport(ctx context.Context, conn net.Conn, limit time.Duration) (*hijackedTransport, context.Context) {
	ctx, gone := context.WithCancelCause(ctx)
	return &hijackedTransport{conn: socket.DeadlineConn{Conn: conn, Limit: limit}, gone: gone}, ctx
}

// detectClose ends the stream's context when the client goes away.
func (t *hijackedTransport) detectClose() {
	if t.detectsClose {
		return
	}
	t.detectsClose = true
	t.reading.Go(func() {
		if readUntilClosed(t.conn.Conn) {
			t.gone(socket.ErrPeerGone)
		}
	})
}

// detach implements detacher.
func (t *hijackedTransport) detach() Handle { return Handle{Conn: t.release()} }

// Abort implements aborter.
func (t *hijackedTransport) Abort() { socket.Abort(t.conn) }

// release stops what detectClose has begun, and returns the connection.
func (t *hijackedTransport) release() net.Conn {
	if t.detectsClose {
		_ = t.conn.SetReadDeadline(time.Unix(1, 0)) // a connection that is gone shows that to whoever uses it next
		t.reading.Wait()
		_ = t.conn.SetReadDeadline(time.Time{})
		t.detectsClose = false
	}
	return t.conn.Conn
}

// readUntilClosed reads until the connection ends: that is how a client that has gone is noticed while nothing is written. False:
// somebody has put an end to the reading.
func readUntilClosed(conn net.Conn) (gone bool) {
	scrap := make([]byte, 128)
	for received := 0; received < MaxClientBytes; {
		n, err := conn.Read(scrap)
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		received += n
	}
	return true
}

func (t *hijackedTransport) frame(line []byte) error {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = AppendChunk(t.pending.Bytes, line)
	return nil
}

func (t *hijackedTransport) flush() error {
	if t.pending == nil {
		return nil
	}
	_, err := t.conn.Write(t.pending.Bytes)
	t.pending.Put()
	t.pending = nil
	return err
}

func (t *hijackedTransport) end() error {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = append(t.pending.Bytes, LastChunk...)
	err := t.flush()
	t.ended = err == nil
	return err
}

func (t *hijackedTransport) close() {
	if !t.ended {
		socket.ResetOnClose(t.conn)
	}
	_ = t.conn.Close() // nothing is left to be done with it
	t.reading.Wait()
	t.gone(context.Canceled)
}
