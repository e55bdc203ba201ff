package gateway

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

// Listen makes the connections of a listener such that a writer can own them below TLS: it is for tls.NewListener, or for
// http.Server.ServeTLS. With HTTP/2 as http2.Configure has it, a connection is cut when its client has taken nothing for 30 s.
func Listen(l net.Listener) net.Listener { return wireListener{l, stallLimit} }

type wireListener struct {
	net.Listener
	stall time.Duration
}

// Accept implements net.Listener.
func (l wireListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, stall: l.stall}, nil
}

// wire is a connection below one of TLS. When a writer takes it, nothing blocks any more: what TLS writes is put into a buffer of
// the writer's, and what it reads is what is there. With HTTP/2 it is not taken, but what TLS writes goes elsewhere too.
type wire struct {
	net.Conn               // nil while a writer has it
	socket   socket.Socket // the writer's
	sealed   *[]byte       // where the writer wants what TLS writes; nil: no writer has it
	sink     http2.Sink    // where HTTP/2 wants it; nil: it is no connection of HTTP/2
	stall    time.Duration
}

// layers are the connection that the system knows, and what stands on it; nil without TLS.
func layers(conn net.Conn) (below net.Conn, w *wire, secure *tls.Conn) {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return conn, nil, nil
	}
	if w, ok = secure.NetConn().(*wire); !ok {
		return secure.NetConn(), nil, secure
	}
	return w.Conn, w, secure
}

func (w *wire) take(s socket.Socket, sealed *[]byte) { w.Conn, w.socket, w.sealed = nil, s, sealed }

func (w *wire) giveBack(conn net.Conn) { w.Conn, w.sealed = conn, nil }

// NetConn is the connection below, as crypto/tls calls it.
func (w *wire) NetConn() net.Conn { return w.Conn }

// Divert implements http2.Below.
func (w *wire) Divert(sink http2.Sink) (net.Conn, syscall.RawConn, error) {
	system, ok := socket.Base(w.Conn).(syscall.Conn)
	if !ok {
		return nil, nil, socket.ErrNotPollable
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	socket.LimitUnsent(socket.Base(w.Conn))
	w.sink = sink
	return socket.DeadlineConn{Conn: w.Conn, Limit: w.stall}, raw, nil
}

func (w *wire) Write(p []byte) (int, error) {
	switch {
	case w.sink != nil:
		return w.sink.Write(p)
	case w.sealed == nil:
		return w.Conn.Write(p)
	}
	*w.sealed = append(*w.sealed, p...)
	return len(p), nil
}

// Close implements net.Conn.
func (w *wire) Close() error {
	if w.sink != nil {
		w.sink.Flush()
	}
	return w.Conn.Close()
}

func (w *wire) Read(p []byte) (int, error) {
	if w.sealed == nil {
		return w.Conn.Read(p)
	}
	n, more, err := w.socket.Read(p)
	if err == nil && !more {
		err = nothingYet{}
	}
	return n, err
}

// SetWriteDeadline is called by crypto/tls before it says good-bye.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.sealed == nil && w.sink == nil {
		return w.Conn.SetWriteDeadline(t)
	}
	return nil
}

// nothingYet is an error after which TLS reads on where it was.
type nothingYet struct{}

func (nothingYet) Error() string   { return "nothing to read yet" }
func (nothingYet) Timeout() bool   { return true }
func (nothingYet) Temporary() bool { return true }

var _ net.Error = nothingYet{}
