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

// MaxClientBytes is how many bytes a client may send after its request. The server discards them. A client that sends more is disconnected.
const MaxClientBytes = 64 << 10

// hijackedTransport writes to a connection that was hijacked from net/http after the response header, because net/http needs one write for
// each chunk. The connection closes at the end of the stream, as the header announces.
type hijackedTransport struct {
	conn         socket.DeadlineConn
	gone         context.CancelCauseFunc // cancels the stream's context
	reading      sync.WaitGroup
	detectsClose bool
	pending      *buffer.Buffer // chunks; nil: nothing to flush
	ended        bool
}

// canHijack reports whether the connection of r can be hijacked: the response is chunked, and the request has no body, because net/http
// would own the unread bytes of a body.
func canHijack(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.ContentLength == 0 && !request.IsHead(r)
}

// hijack takes the connection over after the response header is sent. The returned context also ends when detectClose finds that the client
// has closed. limit is the longest time without progress of a write. If the error is http.ErrNotSupported, nothing has changed.
func hijack(ctx context.Context, w http.ResponseWriter, limit time.Duration) (*hijackedTransport, context.Context, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, ctx, err
	}
	// net/http keeps the reader and the writer until its handler returns. Dropping their 8 KiB makes an idle watch a third cheaper.
	*buffered.Reader, *buffered.Writer = bufio.Reader{}, bufio.Writer{}
	conn = Unwrap(conn)
	socket.LimitUnsent(socket.Base(conn))
	t, ctx := newHijackedTransport(ctx, conn, limit)
	return t, ctx, nil
}

// newHijackedTransport returns a transport that writes to conn. The returned context also ends when detectClose finds that the client has
// closed.
func newHijackedTransport(ctx context.Context, conn net.Conn, limit time.Duration) (*hijackedTransport, context.Context) {
	ctx, gone := context.WithCancelCause(ctx)
	return &hijackedTransport{conn: socket.DeadlineConn{Conn: conn, Limit: limit}, gone: gone}, ctx
}

// detectClose starts a goroutine that cancels the stream's context when the client closes. Further calls do nothing.
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

// Abort implements Aborter.
func (t *hijackedTransport) Abort() { socket.Abort(t.conn) }

// release stops the goroutine of detectClose and returns the connection.
func (t *hijackedTransport) release() net.Conn {
	if t.detectsClose {
		_ = t.conn.SetReadDeadline(time.Unix(1, 0)) // ignored, because a broken connection fails at its next use
		t.reading.Wait()
		_ = t.conn.SetReadDeadline(time.Time{})
		t.detectsClose = false
	}
	return t.conn.Conn
}

// readUntilClosed reads until the connection ends, because only a read detects a closed connection while the server writes nothing. It
// reports whether the client has disconnected: it has closed, or has sent MaxClientBytes. False: release has set a read deadline.
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
	_ = t.conn.Close() // the connection is not used again
	t.reading.Wait()
	t.gone(context.Canceled)
}
