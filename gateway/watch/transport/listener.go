package transport

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

// Listen wraps a listener for tls.NewListener or http.Server.ServeTLS, because an event loop can only own a connection if an InterceptConn
// is below its TLS. If the server uses http2.Configure, an HTTP/2 connection is closed when its client accepts no bytes for
// socket.WriteTimeout (30 s).
func Listen(l net.Listener) net.Listener { return InterceptListener{l, socket.WriteTimeout} }

// InterceptListener wraps the connections that it accepts in InterceptConns. WriteTimeout is the longest time without progress of a write
// over HTTP/2.
type InterceptListener struct {
	net.Listener
	WriteTimeout time.Duration
}

// Accept implements net.Listener. The connection is an *InterceptConn.
func (l InterceptListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &InterceptConn{Conn: conn, hello: new(clientHello), writeTimeout: l.WriteTimeout}, nil
}

// InterceptConn is a connection below TLS. Once an event loop owns it, writes go to the loop's buffer and reads return immediately. Over
// HTTP/2 no loop owns it; writes go to the sink of package http2.
type InterceptConn struct {
	net.Conn                   // nil while a loop owns it
	hello        *clientHello  // nil: it has been read
	socket       socket.Socket // set by Intercept
	encrypted    *[]byte       // the loop's buffer; nil: no loop owns it
	received     int           // bytes that were read while a loop owned it
	sink         http2.Sink    // set by Divert; nil: not an HTTP/2 connection
	writeTimeout time.Duration
}

// UnwrapTLS returns the connection below TLS, the InterceptConn around it, and the TLS connection. w is nil if there is no InterceptConn,
// and secure is nil if conn does not use TLS.
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

// Unwrap returns the TLS connection of a hijacked connection that has a method TLS, and any other connection unchanged.
func Unwrap(conn net.Conn) net.Conn {
	if wrapped, ok := conn.(interface{ TLS() *tls.Conn }); ok {
		return wrapped.TLS()
	}
	return conn
}

// Intercept makes an event loop the owner: TLS reads from s without blocking, and its writes are appended to *encrypted. The loop owns
// both. Restore undoes it.
func (w *InterceptConn) Intercept(s socket.Socket, encrypted *[]byte) {
	w.Conn, w.socket, w.encrypted, w.received = nil, s, encrypted, 0
}

// Restore undoes Intercept. TLS then reads from conn and writes to it, and may block.
func (w *InterceptConn) Restore(conn net.Conn) { w.Conn, w.encrypted = conn, nil }

// NetConn returns the wrapped connection, like tls.Conn.NetConn; nil while an event loop owns it.
func (w *InterceptConn) NetConn() net.Conn { return w.Conn }

// Divert implements http2.Below. It fails with socket.ErrNotPollable if the connection is not a socket of the operating system.
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

// Write implements net.Conn. It does not block after Intercept.
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

// Close implements net.Conn. Over HTTP/2 it flushes the sink first.
func (w *InterceptConn) Close() error {
	if w.sink != nil {
		w.sink.Flush()
	}
	return w.Conn.Close()
}

// Read implements net.Conn. After Intercept it does not block: it fails with NoDataError when the socket has no data. It fails with
// socket.ErrPeerGone when the client has sent more than MaxClientBytes, because TLS answers some of them (KeyUpdate), and the loop would
// keep the answers for a client that does not read.
func (w *InterceptConn) Read(p []byte) (int, error) {
	switch {
	case w.hello != nil:
		return w.readHello(p)
	case w.encrypted == nil:
		return w.Conn.Read(p)
	}
	n, more, err := w.socket.Read(p)
	w.received += n
	switch {
	case err != nil:
	case !more:
		err = NoDataError{}
	case w.received > MaxClientBytes:
		return 0, socket.ErrPeerGone
	}
	return n, err
}

func (w *InterceptConn) readHello(p []byte) (int, error) {
	n, done, err := w.hello.readFrom(w.Conn, p)
	if done {
		w.hello = nil
	}
	return n, err
}

// SetWriteDeadline implements net.Conn. crypto/tls calls it before it writes a close_notify. It does nothing after Intercept or Divert,
// because writes do not block then.
func (w *InterceptConn) SetWriteDeadline(t time.Time) error {
	if w.encrypted == nil && w.sink == nil {
		return w.Conn.SetWriteDeadline(t)
	}
	return nil
}

// NoDataError means that an InterceptConn has no data to read now. It is a temporary timeout, because crypto/tls cannot read again after
// other errors.
type NoDataError struct{}

func (NoDataError) Error() string { return "nothing to read yet" }

// Timeout implements net.Error. It returns true.
func (NoDataError) Timeout() bool { return true }

// Temporary implements net.Error. It returns true.
func (NoDataError) Temporary() bool { return true }

var _ net.Error = NoDataError{}
