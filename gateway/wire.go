package gateway

import (
	"crypto/tls"
	"net"
	"time"
)

// Listen makes the connections of a listener such that a writer can own them below TLS: it is for tls.NewListener, or for
// http.Server.ServeTLS.
func Listen(l net.Listener) net.Listener { return wireListener{l} }

type wireListener struct{ net.Listener }

// Accept implements net.Listener.
func (l wireListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn}, nil
}

// wire is a connection below one of TLS. When a writer takes it, nothing blocks any more: what TLS writes is put into a buffer of
// the writer's, and what it reads is what is there.
type wire struct {
	net.Conn         // nil while a writer has it
	socket   socket  // the writer's
	sealed   *[]byte // where the writer wants what TLS writes; nil: no writer has it
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

func (w *wire) take(s socket, sealed *[]byte) { *w = wire{socket: s, sealed: sealed} }

func (w *wire) giveBack(conn net.Conn) { *w = wire{Conn: conn} }

// NetConn is the connection below, as crypto/tls calls it.
func (w *wire) NetConn() net.Conn { return w.Conn }

func (w *wire) Write(p []byte) (int, error) {
	if w.sealed == nil {
		return w.Conn.Write(p)
	}
	*w.sealed = append(*w.sealed, p...)
	return len(p), nil
}

func (w *wire) Read(p []byte) (int, error) {
	if w.sealed == nil {
		return w.Conn.Read(p)
	}
	n, more, err := w.socket.read(p)
	if err == nil && !more {
		err = nothingYet{}
	}
	return n, err
}

// SetWriteDeadline is called by crypto/tls before it says good-bye.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.sealed == nil {
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
