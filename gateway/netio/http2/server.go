package http2

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	h2 "golang.org/x/net/http2"
)

// Configure makes a server serve HTTP/2 when TLS negotiates it. The streams of a connection can be hijacked if its TLS uses a [Below].
// Configure is called once, before the server serves. Server.Shutdown sends GOAWAY and waits for the connections to end. A Below limits how
// long a client may accept no bytes; server.HTTP2.WriteByteTimeout has no effect on its connections.
//
// net/http exports no function that serves one HTTP/2 connection, and a server accepts a connection that is not a [tls.Conn] only from a
// listener. Therefore a second http.Server, which speaks HTTP/2 with prior knowledge, accepts each connection after its TLS handshake.
//
// server.HTTP2.MaxConcurrentStreams limits the hijacked streams of a connection, and separately the others.
func Configure(server *http.Server) {
	if slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), "http2server=0") {
		return // net/http does not negotiate HTTP/2, and would not serve it
	}
	inner := &http.Server{
		Protocols:         new(http.Protocols),
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveRequest(server.Handler, w, r) }),
		ReadHeaderTimeout: server.ReadHeaderTimeout,
		IdleTimeout:       server.IdleTimeout,
		MaxHeaderBytes:    server.MaxHeaderBytes,
		HTTP2:             server.HTTP2,
		ErrorLog:          server.ErrorLog,
		BaseContext:       func(l net.Listener) context.Context { return l.(*connListener).ctx },
	}
	inner.Protocols.SetUnencryptedHTTP2(true)
	server.RegisterOnShutdown(func() {
		ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // the server itself waits for the connections
		cancel()
		_ = inner.Shutdown(ctx) // sends GOAWAY and does not wait
	})
	if server.TLSNextProto == nil {
		server.TLSNextProto = make(map[string]func(*http.Server, *tls.Conn, http.Handler))
	}
	server.TLSNextProto[h2.NextProtoTLS] = func(_ *http.Server, secure *tls.Conn, handler http.Handler) {
		serveConn(inner, secure, handler)
	}
}

// serveConn serves a connection until it is closed.
func serveConn(inner *http.Server, secure *tls.Conn, handler http.Handler) {
	state := secure.ConnectionState()
	served := &connection{conn: newConn(secure, maxHijacked(inner)), tls: &state}
	conn := net.Conn(secure)
	if served.conn != nil {
		conn = served.conn
	}
	ended := make(chan struct{})
	l := &connListener{
		Conn: conn, ctx: context.WithValue(baseContext(handler), connectionKey{}, served),
		pending: make(chan net.Conn, 1),
	}
	l.pending <- servedConn{conn, sync.OnceFunc(func() { close(ended) })}
	_ = inner.Serve(l) // returns as soon as the connection is accepted
	select {
	case refused := <-l.pending: // not accepted, because the server shuts down
		_ = refused.Close()
	default:
		<-ended
	}
}

// connection is the value that the context of a request has for its connection.
type connection struct {
	conn *Conn // nil: its streams cannot be hijacked
	tls  *tls.ConnectionState
}

type connectionKey struct{}

// serveRequest calls the handler. It sets r.TLS, because the inner server does not set it.
func serveRequest(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	served := r.Context().Value(connectionKey{}).(*connection)
	r.TLS = served.tls
	defer served.chargeRequest(r)()
	stream := served.streamOf(r)
	if stream == nil {
		handler.ServeHTTP(w, r)
		return
	}
	defer stream.endHandler()
	handler.ServeHTTP(&responseWriter{w, stream}, r)
	stream.keepOpen()
}

// streamOf returns the stream of a request; nil: it cannot be hijacked. It removes the header field that names the stream.
func (c *connection) streamOf(r *http.Request) *Stream {
	names := r.Header[streamHeader]
	if c.conn == nil || len(names) == 0 {
		return nil
	}
	delete(r.Header, streamHeader)
	return c.conn.stream(names[len(names)-1]) // the last one, because the client may have sent the field too
}

// responseWriter is the ResponseWriter of a request whose stream may be hijacked.
type responseWriter struct {
	http.ResponseWriter
	stream *Stream
}

// Unwrap lets http.ResponseController reach the ResponseWriter of net/http.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// StreamOf returns the stream of the response that w writes. Other ResponseWriters with a method Unwrap may wrap w. nil: the stream cannot be
// hijacked, because the connection is not served by [Configure], the client has not ended its request, has a small window, or has as many
// hijacked streams as it may have.
func StreamOf(w http.ResponseWriter) *Stream {
	for {
		switch below := w.(type) {
		case *responseWriter:
			if !below.stream.available() {
				return nil
			}
			return below.stream
		case interface{ Unwrap() http.ResponseWriter }:
			w = below.Unwrap()
		default:
			return nil
		}
	}
}

// maxHijacked returns the largest number of hijacked streams of a connection.
func maxHijacked(server *http.Server) int {
	if server.HTTP2 == nil {
		return defaultStreams
	}
	return cmp.Or(server.HTTP2.MaxConcurrentStreams, defaultStreams)
}

// baseContext returns the context that the server has made for a connection. net/http passes it as a method of the handler.
func baseContext(handler http.Handler) context.Context {
	if based, ok := handler.(interface{ BaseContext() context.Context }); ok {
		return based.BaseContext()
	}
	return context.Background() //nolint:forbidigo // there is no other
}

// connListener is a listener that accepts one connection.
type connListener struct {
	net.Conn                 // for LocalAddr
	ctx      context.Context //nolint:containedctx // of the connection
	pending  chan net.Conn   // holds the connection until it is accepted
}

// Accept implements net.Listener.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.pending:
		return conn, nil
	default:
		return nil, net.ErrClosed // ends Serve, which has started the goroutine of the connection
	}
}

// Addr implements net.Listener.
func (l *connListener) Addr() net.Addr { return l.LocalAddr() }

// Close implements net.Listener. The connection stays open.
func (l *connListener) Close() error { return nil }

// servedConn is a connection that calls ended when it is closed. It has no method ConnectionState, because net/http accepts HTTP/2 with
// prior knowledge only on connections without TLS.
type servedConn struct {
	net.Conn
	ended func()
}

// Close implements net.Conn.
func (c servedConn) Close() error {
	defer c.ended()
	return c.Conn.Close()
}
