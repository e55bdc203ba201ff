package http2

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	h2 "golang.org/x/net/http2"
)

// Configure has a server speak HTTP/2 where TLS negotiates it, on connections whose streams can be taken if they stand on a [Below].
// It is called once, before the server serves. There it is for Below to say how long a client may take nothing,
// and not for server.HTTP2.WriteByteTimeout.
//
//nolint:staticcheck // what is recommended instead, net/http's own server of HTTP/2, takes no connections of ours
func Configure(server *http.Server) error {
	var protocol h2.Server
	if err := h2.ConfigureServer(server, &protocol); err != nil {
		return err
	}
	if server.TLSNextProto == nil {
		server.TLSNextProto = make(map[string]func(*http.Server, *tls.Conn, http.Handler))
	}
	server.TLSNextProto[h2.NextProtoTLS] = func(server *http.Server, secure *tls.Conn, handler http.Handler) {
		ctx := baseContext(handler)
		var conn net.Conn = secure
		if c := newConn(secure); c != nil {
			conn, ctx = c, context.WithValue(ctx, connKey{}, c)
		}
		protocol.ServeConn(conn, &h2.ServeConnOpts{Context: ctx, BaseConfig: server, Handler: entrance{server.Handler, handler}})
	}
	return nil
}

// entrance is the way to the server's handler. The usual one, by net/http, takes half a kilobyte of stack for as long as the handler
// waits; it is taken where net/http has something to do.
type entrance struct{ direct, usual http.Handler }

// ServeHTTP implements http.Handler.
func (e entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.direct == nil || r.TLS == nil || r.RequestURI == "*" {
		e.usual.ServeHTTP(w, r)
		return
	}
	e.direct.ServeHTTP(w, r)
}

// baseContext is the server's for a connection: net/http hands it over like this, to golang.org/x/net/http2 too.
func baseContext(handler http.Handler) context.Context {
	if based, ok := handler.(interface{ BaseContext() context.Context }); ok {
		return based.BaseContext()
	}
	return context.Background() //nolint:forbidigo // there is no other
}

type connKey struct{}

// Of is the stream of a request that is being served, and nobody has asked for yet; nil: it cannot be taken.
func Of(r *http.Request) *Stream {
	c, ok := r.Context().Value(connKey{}).(*Conn)
	if !ok {
		return nil
	}
	names := r.Header[streamHeader]
	if len(names) == 0 {
		return nil
	}
	delete(r.Header, streamHeader)
	return c.stream(names[len(names)-1]) // the client may have sent others before
}
