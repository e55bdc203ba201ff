package eventloop

import (
	"crypto/tls"
	"errors"

	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// conn writes to one client, over HTTP/1.1 or an HTTP/2 stream. The event loop owns it; no method blocks.
type conn interface {
	// join registers for events of the client. It reports whether the client is still connected.
	join(l *eventLoop, c *client) bool
	// connection returns the HTTP/2 connection; nil: the client has a connection of its own.
	connection() *connection
	// leave is called when the client is removed from the loop.
	leave(l *eventLoop)
	// chunked reports whether each frame is a chunk, and the body ends with the last chunk.
	chunked() bool
	// ready reports whether write would accept some bytes. If not, l.onWritable is called when it may.
	ready() bool
	// encrypt returns the bytes to write for data and, with last, for the end of the stream. The next call overwrites them.
	encrypt(l *eventLoop, data []byte, last bool) ([]byte, error)
	// write writes as many bytes as the connection accepts now.
	write(l *eventLoop, encrypted []byte) (n int, err error)
	// drainRead reads the bytes that the client has sent. It reports whether the client is still connected.
	drainRead(l *eventLoop, c *client) bool
	// flushing reports whether the connection itself is still writing, in which case the stall timer must not fire.
	flushing() bool
	// close ends the stream: the connection is kept alive or closes. If err is not nil, the client gets a broken stream.
	close(l *eventLoop, err error)
	// release lets a goroutine resume the session. After an error the session is not served any more.
	release(l *eventLoop, s *watch.Session) error
}

// http1Conn is an HTTP/1.1 connection.
type http1Conn struct {
	socket      socket.Socket
	intercepted *transport.InterceptConn // between TLS and the socket; nil: no TLS
	secure      *tls.Conn                // above intercepted; nil: no TLS
	received    int                      // bytes that the client has sent after its request
	handle      transport.Handle         // without Conn
}

// newHTTP1Conn makes the loop the owner of h. After an error h is unchanged.
func newHTTP1Conn(l *eventLoop, h transport.Handle) (*http1Conn, error) {
	below, under, secure := transport.UnwrapTLS(h.Conn)
	if !socket.Pollable(below) || secure != nil && under == nil {
		return nil, socket.ErrNotPollable
	}
	s, err := socket.New(below)
	if err != nil {
		return nil, err
	}
	if under != nil {
		under.Intercept(s, &l.encrypted)
	}
	h.Conn = nil
	return &http1Conn{socket: s, intercepted: under, secure: secure, received: len(h.Received), handle: h}, nil
}

func (h *http1Conn) join(l *eventLoop, c *client) bool {
	if err := l.poller.Add(h.socket, c.tag); err != nil {
		l.close(c, err)
		return false
	}
	return h.secure == nil || h.drainRead(l, c) // TLS may have buffered more than the last read returned
}

func (*http1Conn) connection() *connection { return nil }

func (*http1Conn) leave(*eventLoop) {}

func (*http1Conn) chunked() bool { return true }

func (*http1Conn) ready() bool { return true }

func (*http1Conn) flushing() bool { return false }

func (h *http1Conn) encrypt(l *eventLoop, data []byte, last bool) ([]byte, error) {
	if h.secure == nil {
		return data, nil
	}
	if cap(l.encrypted) > 2*transport.MaxCollected {
		l.encrypted = nil // it has grown for a large object
	}
	l.encrypted = l.encrypted[:0]
	_, err := h.secure.Write(data) // transport.InterceptConn appends to l.encrypted
	if err == nil && last && h.handle.KeepAlive == nil {
		err = h.secure.CloseWrite()
	}
	return l.encrypted, err
}

func (h *http1Conn) write(_ *eventLoop, encrypted []byte) (int, error) {
	return h.socket.Write(encrypted)
}

func (h *http1Conn) drainRead(l *eventLoop, c *client) bool {
	l.encrypted = l.encrypted[:0]
	for {
		n, more, err := h.read(l.discard[:])
		h.handle.Receive(l.discard[:n])
		if h.received += n; err == nil && h.received > transport.MaxClientBytes {
			err = socket.ErrPeerGone
		}
		if err != nil {
			l.close(c, socket.ErrPeerGone)
			return false
		}
		if !more {
			break
		}
	}
	if len(l.encrypted) > 0 { // TLS has written a response
		l.sendEncrypted(c, l.encrypted)
	}
	return !c.closed
}

// read reads bytes that the client has sent. more reports whether there may be more now.
func (h *http1Conn) read(into []byte) (n int, more bool, err error) {
	if h.secure == nil {
		return h.socket.Read(into)
	}
	n, err = h.secure.Read(into)
	if errors.Is(err, transport.NoDataError{}) {
		return n, false, nil
	}
	return n, true, err
}

func (h *http1Conn) close(l *eventLoop, err error) {
	switch {
	case err != nil:
		h.socket.Abort()
	case h.handle.KeepAlive == nil:
		h.socket.Close()
	default:
		if handle, err := h.detach(l); err == nil { // otherwise the socket is closed
			handle.KeepAlive(handle.Conn, handle.Received)
		}
	}
}

func (h *http1Conn) release(l *eventLoop, s *watch.Session) error {
	handle, err := h.detach(l)
	if err == nil {
		l.pool.background.Go(func() { s.Resume(l.ctx, handle) })
	}
	return err
}

// detach ends the ownership of the loop. After an error the connection is closed.
func (h *http1Conn) detach(l *eventLoop) (transport.Handle, error) {
	l.poller.Remove(h.socket)
	handle := h.handle
	conn, err := h.socket.Conn()
	if err != nil {
		return handle, err
	}
	if handle.Conn = conn; h.intercepted != nil {
		h.intercepted.Restore(conn)
		handle.Conn = h.secure
	}
	return handle, nil
}
