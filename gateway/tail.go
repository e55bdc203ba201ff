package gateway

import (
	"context"
	"net/http"

	"revtail/gateway/http2"
)

// tail takes a watch that lives on when the handlers of its request have returned. One of HTTP/2 has a goroutine for as long as it
// lasts: below all handlers, it would hold the stack of them all. What is between the goroutine's begin and Server.ServeHTTP takes
// so much already that little more makes it 8 KiB instead of 4.
type tail struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // as net/http made it: it holds nothing of what handlers have added
	stream  *http2.Stream   // of the request; nil: it cannot be taken
	watch   *watch          // nil: there is none
	ctx     context.Context //nolint:containedctx // the watch's
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
