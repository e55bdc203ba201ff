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

// MaxClientBytes is how many bytes a client may send before the stream has ended. A client that sends more is disconnected.
const MaxClientBytes = 64 << 10

// hijackedTransport writes to a connection that was hijacked from net/http after the response header, because net/http needs one write for
// each chunk. At the end of the stream the connection is kept alive, or it closes, as the header announces.
type hijackedTransport struct {
	conn         socket.DeadlineConn
	handle       Handle                  // without Conn; the goroutine of detectClose adds to it while it runs
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
func hijack(ctx context.Context, w http.ResponseWriter, limit time.Duration, keep KeepAlive) (*hijackedTransport, context.Context, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, ctx, err
	}
	h := Handle{Conn: Unwrap(conn), KeepAlive: keep}
	received, _ := buffered.Peek(buffered.Reader.Buffered()) // of the buffer
	h.Receive(received)
	// net/http keeps the reader and the writer until its handler returns. Dropping their 8 KiB makes an idle watch a third cheaper.
	*buffered.Reader, *buffered.Writer = bufio.Reader{}, bufio.Writer{}
	socket.LimitUnsent(socket.Base(h.Conn))
	t, ctx := newHijackedTransport(ctx, h, limit)
	return t, ctx, nil
}

// newHijackedTransport returns a transport that writes to h.Conn. The returned context also ends when detectClose finds that the client has
// closed.
func newHijackedTransport(ctx context.Context, h Handle, limit time.Duration) (*hijackedTransport, context.Context) {
	ctx, gone := context.WithCancelCause(ctx)
	t := &hijackedTransport{conn: socket.DeadlineConn{Conn: h.Conn, Limit: limit}, handle: h, gone: gone}
	t.handle.Conn = nil
	return t, ctx
}

// detectClose starts a goroutine that cancels the stream's context when the client closes. Further calls do nothing.
func (t *hijackedTransport) detectClose() {
	if t.detectsClose {
		return
	}
	t.detectsClose = true
	t.reading.Go(func() {
		if readUntilClosed(t.conn.Conn, t.handle.Receive) {
			t.gone(socket.ErrPeerGone)
		}
	})
}

// detach implements detacher.
func (t *hijackedTransport) detach() Handle {
	conn := t.release()
	h := t.handle
	h.Conn = conn
	return h
}

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

// readUntilClosed reads until the connection ends, because only a read detects a closed connection while the server writes nothing, and passes what
// it has read to receive. It reports whether the client has disconnected: it has closed, or has sent MaxClientBytes. False: release has set a read deadline.
func readUntilClosed(conn net.Conn, receive func([]byte)) (gone bool) {
	scrap := make([]byte, 128)
	for received := 0; received < MaxClientBytes; {
		n, err := conn.Read(scrap)
		receive(scrap[:n])
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
	if t.ended && t.handle.KeepAlive != nil {
		t.keepAlive()
		return
	}
	if !t.ended {
		socket.ResetOnClose(t.conn)
	}
	_ = t.conn.Close() // the connection is not used again
	t.reading.Wait()
	t.gone(context.Canceled)
}

// keepAlive passes the connection on, whose stream has ended.
func (t *hijackedTransport) keepAlive() {
	h := t.detach()
	t.gone(context.Canceled)
	if h.KeepAlive == nil { // the client has sent too much meanwhile
		_ = h.Conn.Close()
		return
	}
	_ = h.Conn.SetWriteDeadline(time.Time{}) // a broken connection fails at its next use
	h.KeepAlive(h.Conn, h.Received)
}
