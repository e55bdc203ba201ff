package gateway

import (
	"context"
	"sync"
	"sync/atomic"

	"revtail/gateway/netio/socket"
)

// registry are the open watches, for the time when they must end.
type registry struct {
	mu        sync.Mutex // guards the fields below, and those of the open streams
	announced bool
	draining  bool
	aborting  bool // the time to drain is over
	open      map[*registration]struct{}
	limit     int            // of one user; zero: no limit
	perUser   map[string]int // by user
	ended     chan struct{}  // closed when draining and none is open; nil: nobody waits
}

// registration is an open watch, wherever it is served: on a goroutine, which its context ends, or by a writer.
type registration struct {
	registry *registry
	caller   *caller // nil: anybody
	cancel   context.CancelCauseFunc
	loop     loop                  // nil: on a goroutine
	conn     aborter               // of a goroutine's stream that was taken from net/http, which does not end it any more; nil: none
	draining bool                  // the server drains, and it is the stream's turn
	revoked  atomic.Pointer[error] // why its caller may not have it any more; nil: they may
}

func (s *registry) announceDrain() {
	s.mu.Lock()
	s.announced = true
	s.mu.Unlock()
}

// shuttingDown tells whether the server is about to shut down.
func (s *registry) shuttingDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announced || s.draining
}

// add registers a stream: its context ends with errDraining as the cause when the server drains. done must be called when the
// stream has ended. It is refused when the server drains already, or the caller has too many.
func (s *registry) add(parent context.Context, c *caller) (o *registration, ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, nil, errDraining
	}
	if c != nil && s.limit > 0 {
		if s.perUser[c.account()] >= s.limit {
			return nil, nil, errTooManyWatches
		}
		if s.perUser == nil {
			s.perUser = make(map[string]int)
		}
		s.perUser[c.account()]++
	}
	o = &registration{registry: s, caller: c}
	ctx, o.cancel = context.WithCancelCause(parent)
	if s.open == nil {
		s.open = make(map[*registration]struct{})
	}
	s.open[o] = struct{}{}
	return o, ctx, nil
}

// authenticated are the open streams of callers who are known.
func (s *registry) authenticated() []*registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var called []*registration
	for o := range s.open {
		if o.caller != nil {
			called = append(called, o)
		}
	}
	return called
}

// revoke ends the stream with an ERROR frame that says why.
func (o *registration) revoke(why error) {
	o.registry.mu.Lock()
	defer o.registry.mu.Unlock()
	if o.revoked.CompareAndSwap(nil, &why) {
		o.endLocked()
	}
}

// setLoop says that a writer serves the stream from now on.
func (o *registration) setLoop(l loop) {
	o.registry.mu.Lock()
	defer o.registry.mu.Unlock()
	o.cancel(context.Canceled)
	o.loop, o.cancel, o.conn = l, nil, nil
	if o.mustEndLocked() {
		o.endLocked()
	}
	if o.registry.aborting {
		o.abortLocked()
	}
}

// aborter is what a stream that was taken from net/http goes over.
type aborter interface {
	// abort has all that waits for the client fail.
	abort()
}

// setConn says that the stream's goroutine has taken its road from net/http; nil: it has not.
func (o *registration) setConn(r aborter) {
	o.registry.mu.Lock()
	defer o.registry.mu.Unlock()
	o.conn = r
	if o.registry.aborting {
		o.abortLocked()
	}
}

// abortLocked breaks the stream, also under a write that waits for the client. What net/http has is not ours to break.
func (o *registration) abortLocked() {
	switch {
	case o.loop != nil:
		o.loop.abort()
	case o.conn != nil:
		o.cancel(socket.ErrPeerGone)
		o.conn.abort()
	}
}

// resume says that the stream is on a goroutine again, and returns its context.
func (o *registration) resume(parent context.Context) context.Context {
	o.registry.mu.Lock()
	defer o.registry.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	o.loop, o.cancel = nil, cancel
	if o.mustEndLocked() {
		o.endLocked()
	}
	return ctx
}

func (o *registration) mustEndLocked() bool { return o.draining || o.revoked.Load() != nil }

func (o *registration) endLocked() {
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

func (o *registration) done() {
	s := o.registry
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.cancel != nil {
		o.cancel(context.Canceled)
	}
	delete(s.open, o)
	if o.caller != nil && s.limit > 0 {
		if s.perUser[o.caller.account()]--; s.perUser[o.caller.account()] == 0 {
			delete(s.perUser, o.caller.account())
		}
	}
	if len(s.open) == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}
