package gateway

import (
	"crypto/tls"
	"errors"
	"net"

	"revtail/gateway/netio/socket"
)

// conn is the way of a writer to a client: a connection, or a stream of one. It is the writer's, and nothing of it waits.
type conn interface {
	// join begins to hear of the client; false: it has gone.
	join(w *eventLoop, c *client) bool
	// chunked tells whether each frame is a chunk of its own, and a last one is the end.
	chunked() bool
	// ready tells whether the client takes something. If not, w.room is called when it may.
	ready() bool
	// encrypt is what is written for data, and with last for the end. It stands in memory that will be used again.
	encrypt(w *eventLoop, data []byte, last bool) ([]byte, error)
	// write writes what the client takes now.
	write(w *eventLoop, sealed []byte) (n int, err error)
	// drainRead throws away what the client has said; false: it has gone.
	drainRead(w *eventLoop, c *client) bool
	// flushing tells whether somebody else sees to it that the client takes what was written.
	flushing() bool
	// close ends it; with an error the client sees a broken stream.
	close(err error)
	// release has a goroutine go on with the watch. After an error nobody does.
	release(w *eventLoop, wt *session) error
}

// http1Conn is a connection of HTTP/1.1.
type http1Conn struct {
	socket      socket.Socket
	intercepted *interceptConn // between TLS and the socket; nil: no TLS
	secure      *tls.Conn      // on the wire
	received    int            // bytes that the client has sent after its request
}

// newHTTP1Conn takes a connection. Without an error it is the link's, and conn of no more use.
func newHTTP1Conn(w *eventLoop, conn net.Conn) (*http1Conn, error) {
	below, under, secure := unwrapTLS(conn)
	if !socket.Pollable(below) || secure != nil && under == nil {
		return nil, socket.ErrNotPollable
	}
	s, err := socket.New(below)
	if err != nil {
		return nil, err
	}
	if under != nil {
		under.intercept(s, &w.encrypted)
	}
	return &http1Conn{socket: s, intercepted: under, secure: secure}, nil
}

func (l *http1Conn) join(w *eventLoop, c *client) bool {
	if err := w.poller.Add(l.socket, c.tag); err != nil {
		w.close(c, err)
		return false
	}
	return l.secure == nil || l.drainRead(w, c) // TLS may have read more of what the client said than it was asked for
}

func (*http1Conn) chunked() bool { return true }

func (*http1Conn) ready() bool { return true }

func (*http1Conn) flushing() bool { return false }

func (l *http1Conn) encrypt(w *eventLoop, data []byte, last bool) ([]byte, error) {
	if l.secure == nil {
		return data, nil
	}
	if cap(w.encrypted) > 2*maxCollected {
		w.encrypted = nil // a large object had come by
	}
	w.encrypted = w.encrypted[:0]
	_, err := l.secure.Write(data) // by way of the wire
	if err == nil && last {
		err = l.secure.CloseWrite()
	}
	return w.encrypted, err
}

func (l *http1Conn) write(_ *eventLoop, sealed []byte) (int, error) { return l.socket.Write(sealed) }

func (l *http1Conn) drainRead(w *eventLoop, c *client) bool {
	w.encrypted = w.encrypted[:0]
	for {
		n, more, err := l.read(w.discard[:])
		if l.received += n; err == nil && l.received > maxClientBytes {
			err = socket.ErrPeerGone
		}
		if err != nil {
			w.close(c, socket.ErrPeerGone)
			return false
		}
		if !more {
			break
		}
	}
	if len(w.encrypted) > 0 { // TLS has answered something
		w.sendEncrypted(c, w.encrypted)
	}
	return !c.closed
}

// read reads what the client has said; more: it may say more at once.
func (l *http1Conn) read(into []byte) (n int, more bool, err error) {
	if l.secure == nil {
		return l.socket.Read(into)
	}
	n, err = l.secure.Read(into)
	if errors.Is(err, noDataError{}) {
		return n, false, nil
	}
	return n, true, err
}

func (l *http1Conn) close(err error) {
	if err == nil {
		l.socket.Close()
	} else {
		l.socket.Abort()
	}
}

func (l *http1Conn) release(w *eventLoop, wt *session) error {
	w.poller.Remove(l.socket)
	conn, err := l.socket.Conn()
	if err != nil {
		return err
	}
	if l.intercepted != nil {
		l.intercepted.restore(conn)
		conn = l.secure
	}
	w.pool.background.Go(func() { wt.resume(w.ctx, conn) })
	return nil
}
