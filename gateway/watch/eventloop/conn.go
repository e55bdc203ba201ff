package eventloop

import (
	"crypto/tls"
	"errors"
	"net"

	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// conn writes to one client, over HTTP/1.1 or an HTTP/2 stream. The event loop owns it; no method blocks.
type conn interface {
	// join registers for events of the client; false: it has gone.
	join(l *eventLoop, c *client) bool
	// chunked reports whether each frame is a chunk of its own, and a last one is the end.
	chunked() bool
	// ready tells whether the client takes something. If not, l.onWritable is called when it may.
	ready() bool
	// encrypt returns what is written for data and, with last, for the end. The memory is reused.
	encrypt(l *eventLoop, data []byte, last bool) ([]byte, error)
	// write writes what the client takes now.
	write(l *eventLoop, encrypted []byte) (n int, err error)
	// drainRead discards what the client has sent; false: it has gone.
	drainRead(l *eventLoop, c *client) bool
	// flushing reports whether the connection itself is still writing, so that the stall timer must not fire.
	flushing() bool
	// close ends it; with an error the client sees a broken stream.
	close(err error)
	// release has a goroutine resume the session. After an error nothing serves it.
	release(l *eventLoop, s *watch.Session) error
}

// http1Conn is a connection of HTTP/1.1.
type http1Conn struct {
	socket      socket.Socket
	intercepted *transport.InterceptConn // between TLS and the socket; nil: no TLS
	secure      *tls.Conn                // on intercepted
	received    int                      // bytes that the client has sent after its request
}

// newHTTP1Conn takes a connection over. After an error the connection is as it was.
func newHTTP1Conn(l *eventLoop, conn net.Conn) (*http1Conn, error) {
	below, under, secure := transport.UnwrapTLS(conn)
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
	return &http1Conn{socket: s, intercepted: under, secure: secure}, nil
}

func (h *http1Conn) join(l *eventLoop, c *client) bool {
	if err := l.poller.Add(h.socket, c.tag); err != nil {
		l.close(c, err)
		return false
	}
	return h.secure == nil || h.drainRead(l, c) // TLS may have buffered more than it was asked for
}

func (*http1Conn) chunked() bool { return true }

func (*http1Conn) ready() bool { return true }

func (*http1Conn) flushing() bool { return false }

func (h *http1Conn) encrypt(l *eventLoop, data []byte, last bool) ([]byte, error) {
	if h.secure == nil {
		return data, nil
	}
	if cap(l.encrypted) > 2*transport.MaxCollected {
		l.encrypted = nil // a large object had come by
	}
	l.encrypted = l.encrypted[:0]
	_, err := h.secure.Write(data) // by way of transport.InterceptConn
	if err == nil && last {
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
	if len(l.encrypted) > 0 { // TLS answered something
		l.sendEncrypted(c, l.encrypted)
	}
	return !c.closed
}

// read reads what the client has sent; more: there may be more at once.
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

func (h *http1Conn) close(err error) {
	if err == nil {
		h.socket.Close()
	} else {
		h.socket.Abort()
	}
}

func (h *http1Conn) release(l *eventLoop, s *watch.Session) error {
	l.poller.Remove(h.socket)
	conn, err := h.socket.Conn()
	if err != nil {
		return err
	}
	if h.intercepted != nil {
		h.intercepted.Restore(conn)
		conn = h.secure
	}
	l.pool.background.Go(func() { s.Resume(l.ctx, conn) })
	return nil
}
