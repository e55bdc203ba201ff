package gateway

import (
	"context"
	"net/http"

	"revtail/gateway/netio/http2"
)

// tail takes a watch that lives on when the handlers of its request have returned. One of HTTP/2 has a goroutine for as long as it
// lasts: below all handlers, it would hold the stack of them all. A stack that has ever been more than the first 2 KiB stays at 4 at
// least. So the goroutine does nothing but wait: the handlers run aside.
type tail struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // as net/http made it: it holds nothing of what handlers have added
	stream  *http2.Stream   // of the request; nil: it cannot be taken
	watch   *watch          // nil: there is none

	turn *term // of the watch, which goes on as wait has it
	wake <-chan struct{}
	err  error
}

// serve answers the request. If that is a watch, it has begun to live.
func (t *tail) serve(handler http.Handler, r *http.Request) {
	t.stream = http2.Of(r)
	handler.ServeHTTP(t, r)
	if t.watch != nil {
		t.wake, t.err = t.watch.advance(t.turn)
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (t *tail) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// tailOf is nil where the handler has to do everything itself.
func tailOf(w http.ResponseWriter) *tail {
	for {
		switch below := w.(type) {
		case *tail:
			return below
		case interface{ Unwrap() http.ResponseWriter }:
			w = below.Unwrap()
		default:
			return nil
		}
	}
}
