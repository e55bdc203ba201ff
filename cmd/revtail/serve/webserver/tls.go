package webserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"revtail/gateway/netio/socket"
	"revtail/gateway/netio/stranger"
)

// tlsListener accepts connections whose TLS handshake is complete: a *tls.Conn for HTTP/2, which net/http passes to package http2, and a
// secureConn for HTTP/1.1.
type tlsListener struct {
	net.Listener // of connections without TLS
	config       *tls.Config
	timeout      time.Duration // of a handshake
	log          *log.Logger

	ctx      context.Context //nolint:containedctx // of the handshakes; ends when the listener is closed
	cancel   context.CancelFunc
	accepted chan accepted
	running  sync.WaitGroup
}

// accepted is a result of Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// start starts the goroutine that accepts connections. The caller calls Close, and then wait.
func (l *tlsListener) start(ctx context.Context) {
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.accepted = make(chan accepted)
	l.running.Go(l.run)
}

func (l *tlsListener) run() {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			l.running.Go(func() { l.handshake(conn) })
			continue
		}
		if !l.pass(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// pass passes a result to Accept. It returns false if the listener is closed.
func (l *tlsListener) pass(a accepted) bool {
	select {
	case l.accepted <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It ends the handshakes.
func (l *tlsListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// wait waits for the goroutines of a closed listener.
func (l *tlsListener) wait() { l.running.Wait() }

// handshake makes the TLS handshake of a connection, and passes the connection to Accept.
func (l *tlsListener) handshake(below net.Conn) {
	secure := tls.Server(below, l.config)
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		l.refuse(below, err)
		return
	}
	if c, ok := socket.Base(below).(*conn); ok {
		c.endHandshake()
	}
	served := net.Conn(secure)
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		served = &secureConn{Conn: secure, header: header{stranger: stranger.Of(secure)}}
	}
	if !l.pass(accepted{conn: served}) {
		_ = secure.Close()
	}
}

// refuse closes a connection whose handshake has failed. A client that does not speak TLS gets an answer, as from net/http.
func (l *tlsListener) refuse(below net.Conn, err error) {
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) && noTLS.Conn != nil && looksLikeHTTP(noTLS.RecordHeader) {
		_ = noTLS.Conn.SetWriteDeadline(time.Now().Add(l.timeout)) // the write fails too
		_, _ = io.WriteString(noTLS.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		err = errors.New("client sent an HTTP request to an HTTPS server")
	}
	_ = below.Close()
	l.log.Printf("http: TLS handshake error from %s: %v", below.RemoteAddr(), err)
}

// looksLikeHTTP reports whether the first bytes of a connection are those of an HTTP request.
func looksLikeHTTP(first [5]byte) bool {
	switch string(first[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		return true
	}
	return false
}

// secureConn is an HTTP/1.1 connection with TLS. It is no *tls.Conn, because net/http would read past its method Read.
type secureConn struct {
	*tls.Conn
	header header
}

// Read implements net.Conn.
func (c *secureConn) Read(p []byte) (int, error) { return c.header.read(c.Conn, p) }

// TLS implements the interface of transport.Unwrap.
func (c *secureConn) TLS() *tls.Conn { return c.Conn }

func (c *secureConn) requests() *header { return &c.header }
