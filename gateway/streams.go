package gateway

import (
	"context"
	"sync"
	"sync/atomic"

	"revtail/gateway/netio/socket"
)

// streams are the open watches, for the time when they must end.
type streams struct {
	mu        sync.Mutex // guards the fields below, and those of the open streams
	announced bool
	draining  bool
	cutting   bool // the time to drain is over
	open      map[*openStream]struct{}
	most      int            // of one user; zero: no limit
	held      map[string]int // by user
	ended     chan struct{}  // closed when draining and none is open; nil: nobody waits
}

// openStream is an open watch, wherever it is served: on a goroutine, which its context ends, or by a writer.
type openStream struct {
	streams *streams
	caller  *caller // nil: anybody
	cancel  context.CancelCauseFunc
	loop    loop                  // nil: on a goroutine
	road    road                  // of a goroutine's stream that was taken from net/http, which does not end it any more; nil: none
	leaving bool                  // the server drains, and it is the stream's turn
	revoked atomic.Pointer[error] // why its caller may not have it any more; nil: they may
}

func (s *streams) announce() {
	s.mu.Lock()
	s.announced = true
	s.mu.Unlock()
}

// leaving tells whether the server is about to shut down.
func (s *streams) leaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announced || s.draining
}

// add registers a stream: its context ends with errDraining as the cause when the server drains. done must be called when the
// stream has ended. It is refused when the server drains already, or the caller has too many.
func (s *streams) add(parent context.Context, c *caller) (o *openStream, ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, nil, errDraining
	}
	if c != nil && s.most > 0 {
		if s.held[c.account()] >= s.most {
			return nil, nil, errTooManyWatches
		}
		if s.held == nil {
			s.held = make(map[string]int)
		}
		s.held[c.account()]++
	}
	o = &openStream{streams: s, caller: c}
	ctx, o.cancel = context.WithCancelCause(parent)
	if s.open == nil {
		s.open = make(map[*openStream]struct{})
	}
	s.open[o] = struct{}{}
	return o, ctx, nil
}

// called are the open streams of callers who are known.
func (s *streams) called() []*openStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var called []*openStream
	for o := range s.open {
		if o.caller != nil {
			called = append(called, o)
		}
	}
	return called
}

// revoke ends the stream with an ERROR frame that says why.
func (o *openStream) revoke(why error) {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	if o.revoked.CompareAndSwap(nil, &why) {
		o.endLocked()
	}
}

// adopt says that a writer serves the stream from now on.
func (o *openStream) adopt(l loop) {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	o.cancel(context.Canceled)
	o.loop, o.cancel, o.road = l, nil, nil
	if o.mustEndLocked() {
		o.endLocked()
	}
	if o.streams.cutting {
		o.cutLocked()
	}
}

// road is what a stream that was taken from net/http goes over.
type road interface {
	// cut has all that waits for the client fail.
	cut()
}

// hold says that the stream's goroutine has taken its road from net/http; nil: it has not.
func (o *openStream) hold(r road) {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	o.road = r
	if o.streams.cutting {
		o.cutLocked()
	}
}

// cutLocked breaks the stream, also under a write that waits for the client. What net/http has is not ours to break.
func (o *openStream) cutLocked() {
	switch {
	case o.loop != nil:
		o.loop.cut()
	case o.road != nil:
		o.cancel(socket.ErrPeerGone)
		o.road.cut()
	}
}

// goOn says that the stream is on a goroutine again, and returns its context.
func (o *openStream) goOn(parent context.Context) context.Context {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	o.loop, o.cancel = nil, cancel
	if o.mustEndLocked() {
		o.endLocked()
	}
	return ctx
}

func (o *openStream) mustEndLocked() bool { return o.leaving || o.revoked.Load() != nil }

func (o *openStream) endLocked() {
	why := o.revoked.Load()
	switch {
	case o.loop != nil && why != nil:
		o.loop.refuse(*why)
	case o.loop != nil:
		o.loop.end()
	case o.cancel == nil: // it has ended
	case why != nil:
		o.cancel(*why)
	default:
		o.cancel(errDraining)
	}
}

func (o *openStream) done() {
	s := o.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.cancel != nil {
		o.cancel(context.Canceled)
	}
	delete(s.open, o)
	if o.caller != nil && s.most > 0 {
		if s.held[o.caller.account()]--; s.held[o.caller.account()] == 0 {
			delete(s.held, o.caller.account())
		}
	}
	if len(s.open) == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}
