package transport

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

// Listen returns a listener for tls.NewListener or http.Server.ServeTLS, with connections that an event loop can own below TLS. With HTTP/2
// as http2.Configure has it, a connection is cut when its client has taken nothing for 30 s.
func Listen(l net.Listener) net.Listener { return InterceptListener{l, socket.WriteTimeout} }

// InterceptListener accepts connections as InterceptConns.
type InterceptListener struct {
	net.Listener
	WriteTimeout time.Duration
}

// Accept implements net.Listener.
func (l InterceptListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &InterceptConn{Conn: conn, writeTimeout: l.WriteTimeout}, nil
}

// InterceptConn is a connection below TLS. Once an event loop owns it, writes go to the loop's buffer and reads return immediately. Over
// HTTP/2 no loop owns it, but writes go to the sink.
type InterceptConn struct {
	net.Conn                   // nil while a loop owns it
	socket       socket.Socket // the loop's
	encrypted    *[]byte       // the loop's buffer; nil: no loop owns it
	sink         http2.Sink    // where HTTP/2 wants it; nil: it is no connection of HTTP/2
	writeTimeout time.Duration
}

// UnwrapTLS returns the connection below TLS, the InterceptConn on it and TLS itself; without TLS the last two are nil.
func UnwrapTLS(conn net.Conn) (below net.Conn, w *InterceptConn, secure *tls.Conn) {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return conn, nil, nil
	}
	if w, ok = secure.NetConn().(*InterceptConn); !ok {
		return secure.NetConn(), nil, secure
	}
	return w.Conn, w, secure
}

// Intercept lets an event loop own the connection: TLS reads from s and appends what it writes to encrypted.
func (w *InterceptConn) Intercept(s socket.Socket, encrypted *[]byte) {
	w.Conn, w.socket, w.encrypted = nil, s, encrypted
}

// Restore ends what Intercept began. TLS uses conn from now on.
func (w *InterceptConn) Restore(conn net.Conn) { w.Conn, w.encrypted = conn, nil }

// NetConn is the connection below, as crypto/tls calls it.
func (w *InterceptConn) NetConn() net.Conn { return w.Conn }

// Divert implements http2.Below.
func (w *InterceptConn) Divert(sink http2.Sink) (net.Conn, syscall.RawConn, error) {
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
	return socket.DeadlineConn{Conn: w.Conn, Limit: w.writeTimeout}, raw, nil
}

func (w *InterceptConn) Write(p []byte) (int, error) {
	switch {
	case w.sink != nil:
		return w.sink.Write(p)
	case w.encrypted == nil:
		return w.Conn.Write(p)
	}
	*w.encrypted = append(*w.encrypted, p...)
	return len(p), nil
}

// Close implements net.Conn.
func (w *InterceptConn) Close() error {
	if w.sink != nil {
		w.sink.Flush()
	}
	return w.Conn.Close()
}

func (w *InterceptConn) Read(p []byte) (int, error) {
	if w.encrypted == nil {
		return w.Conn.Read(p)
	}
	n, more, err := w.socket.Read(p)
	if err == nil && !more {
		err = NoDataError{}
	}
	return n, err
}

// SetWriteDeadline implements net.Conn. crypto/tls calls it before its close_notify; where writes do not block, it does nothing.
func (w *InterceptConn) SetWriteDeadline(t time.Time) error {
	if w.encrypted == nil && w.sink == nil {
		return w.Conn.SetWriteDeadline(t)
	}
	return nil
}

// NoDataError is an error after which TLS can read on.
type NoDataError struct{}

func (NoDataError) Error() string { return "nothing to read yet" }

// Timeout implements net.Error: TLS continues after a timeout.
func (NoDataError) Timeout() bool { return true }

// Temporary implements net.Error.
func (NoDataError) Temporary() bool { return true }

var _ net.Error = NoDataError{}
