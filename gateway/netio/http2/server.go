package http2

import (
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

// Configure makes a server speak HTTP/2 where TLS negotiates it. The streams of a connection can be taken if its TLS is on top of a
// [Below]. Configure is called once, before the server serves. Server.Shutdown sends GOAWAY and waits for the connections to end. A Below
// limits how long a client may take nothing; server.HTTP2.WriteByteTimeout has no effect there.
//
// net/http exports no function that serves one HTTP/2 connection, and a server takes a connection that is no [tls.Conn] from a listener
// only. So a second http.Server, which speaks HTTP/2 with prior knowledge, accepts each connection after its TLS handshake.
func Configure(server *http.Server) {
	if slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), "http2server=0") {
		return // net/http negotiates no HTTP/2, and would serve none
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
		_ = inner.Shutdown(ctx) // sends GOAWAY, and does not wait
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
	served := &connection{conn: newConn(secure), tls: &state}
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
	_ = inner.Serve(l) // returns as soon as the connection has been accepted
	select {
	case refused := <-l.pending: // the server shuts down
		_ = refused.Close()
	default:
		<-ended
	}
}

// connection is what the context of a request has of its connection.
type connection struct {
	conn *Conn // nil: its streams cannot be taken
	tls  *tls.ConnectionState
}

type connectionKey struct{}

// serveRequest calls the handler, for which the inner server knows no TLS.
func serveRequest(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	r.TLS = r.Context().Value(connectionKey{}).(*connection).tls
	handler.ServeHTTP(w, r)
}

// baseContext is the context that the server has made for a connection. net/http passes it as a method of the handler.
func baseContext(handler http.Handler) context.Context {
	if based, ok := handler.(interface{ BaseContext() context.Context }); ok {
		return based.BaseContext()
	}
	return context.Background() //nolint:forbidigo // there is no other
}

// connListener is a listener that accepts one connection.
type connListener struct {
	net.Conn                 // has the address
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

// servedConn is a connection that reports its end. It has no method ConnectionState, because net/http looks for HTTP/2 with prior knowledge
// on connections without TLS only.
type servedConn struct {
	net.Conn
	ended func()
}

// Close implements net.Conn.
func (c servedConn) Close() error {
	defer c.ended()
	return c.Conn.Close()
}

// Of returns the stream of a request that is being served, the first time it is called for the request; nil: the stream cannot be taken.
func Of(r *http.Request) *Stream {
	served, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok || served.conn == nil {
		return nil
	}
	names := r.Header[streamHeader]
	if len(names) == 0 {
		return nil
	}
	delete(r.Header, streamHeader)
	return served.conn.stream(names[len(names)-1]) // the client may have sent others before
}
