package watch

import (
	"context"
	"net/http"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch/transport"
)

// deferredWatch lets an HTTP/2 watch outlive its handlers. net/http keeps a goroutine for each HTTP/2 request: below all handlers it would
// hold the stack of them all, and a stack that has ever been more than the first 2 KiB stays at 4 KiB at least. So the handlers run on
// another goroutine, and this one does nothing but wait.
type deferredWatch struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // as net/http made it: it holds nothing of what handlers have added
	stream  *http2.Stream   // of the request; nil: it cannot be taken
	session *Session        // nil: there is none

	interval *bookmarkInterval // of the watch, which goes on as wait has it
	wake     <-chan struct{}
	err      error
}

// serve answers the request. If that is a watch, it has begun to live.
func (d *deferredWatch) serve(handler http.Handler, r *http.Request) {
	handler.ServeHTTP(d, r)
	if d.session != nil {
		d.wake, d.err = d.session.advance(d.interval)
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (d *deferredWatch) Unwrap() http.ResponseWriter { return d.ResponseWriter }

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
func (d *deferredWatch) HTTP2Stream() (*http2.Stream, context.Context) { return d.stream, d.request }

// ServeHTTP has a handler answer a request. A watch over HTTP/2 goes on here when the handler has returned.
func (s *Service) ServeHTTP(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		handler.ServeHTTP(w, r)
		return
	}
	deferred := &deferredWatch{ResponseWriter: w, request: r.Context()}
	if s.HTTP2 != nil {
		deferred.stream = s.HTTP2(r)
	}
	if request.IsLongRunning(r) { // a watch, which waits here later on
		transport.OnNewGoroutine(func() { deferred.serve(handler, r) })
	} else {
		deferred.serve(handler, r)
	}
	if deferred.session == nil {
		return
	}
	r.Header, r.URL = nil, nil // net/http holds the request for as long as the watch lasts
	if deferred.session.wait(deferred.interval, deferred.wake, deferred.err) != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}
