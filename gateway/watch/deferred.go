package watch

import (
	"context"
	"net/http"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch/transport"
)

// deferredWatch lets an HTTP/2 watch outlive its handlers. net/http keeps the goroutine of each HTTP/2 request until the stream ends. If
// the watch waited inside its handlers, that goroutine would hold the stack frames of all of them, and a stack that has once outgrown the
// first 2 KiB never shrinks below 4 KiB. Therefore the handlers run on another goroutine, and the goroutine of the request only waits.
type deferredWatch struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // as net/http made it, without the values that handlers add
	stream  *http2.Stream   // of the request; nil: net/http writes the body
	session *Session        // nil: the handler has opened no watch

	interval *bookmarkInterval // of session
	wake     <-chan struct{}   // the results of the first Session.advance, for Session.wait
	err      error
}

// serve runs the handler, and the first Session.advance if the handler has opened a watch.
func (d *deferredWatch) serve(handler http.Handler, r *http.Request) {
	handler.ServeHTTP(d, r)
	if d.session != nil {
		d.wake, d.err = d.session.advance(d.interval)
	}
}

// Unwrap lets http.ResponseController reach the ResponseWriter of net/http.
func (d *deferredWatch) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// deferredOf returns the deferredWatch that w wraps; nil: the handler itself serves the watch until it ends.
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

// HTTP2Stream implements streamHolder of package transport.
func (d *deferredWatch) HTTP2Stream() (*http2.Stream, context.Context) { return d.stream, d.request }

// ServeHTTP answers a request with a handler. It returns when the response is complete, or when an event loop has adopted a watch over
// HTTP/1.1. Over HTTP/2 it continues to serve a watch after the handler has returned, and panics with http.ErrAbortHandler if the watch
// breaks. It then sets the Header and the URL of r to nil, because net/http holds the request as long as the watch is open.
func (s *Service) ServeHTTP(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		handler.ServeHTTP(w, r)
		return
	}
	deferred := &deferredWatch{ResponseWriter: w, request: r.Context()}
	if s.HTTP2 != nil {
		deferred.stream = s.HTTP2(r)
	}
	if request.IsLongRunning(r) {
		transport.OnNewGoroutine(func() { deferred.serve(handler, r) })
	} else {
		deferred.serve(handler, r)
	}
	if deferred.session == nil {
		return
	}
	r.Header, r.URL = nil, nil // frees their memory, see above
	if deferred.session.wait(deferred.interval, deferred.wake, deferred.err) != nil {
		panic(http.ErrAbortHandler) // net/http resets the stream: the client must not see a clean end
	}
}
