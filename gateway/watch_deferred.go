package gateway

import (
	"context"
	"net/http"

	"revtail/gateway/netio/http2"
)

// deferredWatch takes a watch that lives on when the handlers of its request have returned. One of HTTP/2 has a goroutine for as long as it
// lasts: below all handlers, it would hold the stack of them all. A stack that has ever been more than the first 2 KiB stays at 4 at
// least. So the goroutine does nothing but wait: the handlers run aside.
type deferredWatch struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // as net/http made it: it holds nothing of what handlers have added
	stream  *http2.Stream   // of the request; nil: it cannot be taken
	session *session        // nil: there is none

	interval *bookmarkInterval // of the watch, which goes on as wait has it
	wake     <-chan struct{}
	err      error
}

// serve answers the request. If that is a watch, it has begun to live.
func (t *deferredWatch) serve(handler http.Handler, r *http.Request) {
	handler.ServeHTTP(t, r)
	if t.session != nil {
		t.wake, t.err = t.session.advance(t.interval)
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (t *deferredWatch) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// deferredOf is nil where the handler has to do everything itself.
func deferredOf(w http.ResponseWriter) *deferredWatch {
	for {
		switch below := w.(type) {
		case *deferredWatch:
			return below
		case interface{ Unwrap() http.ResponseWriter }:
			w = below.Unwrap()
		default:
			return nil
		}
	}
}

// HTTP2Stream implements streamHolder.
func (t *deferredWatch) HTTP2Stream() (*http2.Stream, context.Context) { return t.stream, t.request }

// serveHTTP has a handler answer a request. A watch over HTTP/2 goes on here when the handler has returned.
func (s *watchService) serveHTTP(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		handler.ServeHTTP(w, r)
		return
	}
	tail := &deferredWatch{ResponseWriter: w, request: r.Context()}
	if s.http2 != nil {
		tail.stream = s.http2(r)
	}
	if isLongRunning(r) { // a watch, which waits here later on
		onNewGoroutine(func() { tail.serve(handler, r) })
	} else {
		tail.serve(handler, r)
	}
	if tail.session == nil {
		return
	}
	r.Header, r.URL = nil, nil // net/http holds the request for as long as the watch lasts
	if tail.session.wait(tail.interval, tail.wake, tail.err) != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}
