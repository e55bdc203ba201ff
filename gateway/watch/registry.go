package watch

import (
	"context"
	"sync"
	"sync/atomic"

	"revtail/gateway/access"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
)

// registry holds the open streams, to end them.
type registry struct {
	mu        sync.Mutex // guards the fields below, and those of the open streams
	announced bool
	draining  bool
	aborting  bool // the time to drain is over
	open      map[*registration]struct{}
	Limit     int            // of one user; zero: no limit
	perUser   map[string]int // by user
	ended     chan struct{}  // closed when draining and none is open; nil: nobody waits
}

// registration is an open stream, which is served on a goroutine, until its context ends, or by a loop.
type registration struct {
	registry *registry
	caller   *access.Caller // nil: anybody
	cancel   context.CancelCauseFunc
	loop     loop                  // nil: on a goroutine
	conn     transport.Aborter     // of a stream on a goroutine, taken from net/http, which does not end it any more; nil: none
	draining bool                  // the server drains, and it is the stream's turn
	revoked  atomic.Pointer[error] // why its caller may not have it any more; nil: they may
}

// AnnounceDrain makes watches that end from now on count as ended by the shutdown.
func (r *registry) AnnounceDrain() {
	r.mu.Lock()
	r.announced = true
	r.mu.Unlock()
}

// ShuttingDown reports whether the server drains, or is about to.
func (r *registry) ShuttingDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.announced || r.draining
}

// Add registers a stream: its context ends with status.ErrDraining as the cause when the server drains. done must be called when the
// stream has ended. It is refused when the server drains already, or the caller has too many.
func (r *registry) Add(parent context.Context, c *access.Caller) (e *registration, ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return nil, nil, status.ErrDraining
	}
	if c != nil && r.Limit > 0 {
		if r.perUser[c.Account()] >= r.Limit {
			return nil, nil, status.ErrTooManyWatches
		}
		if r.perUser == nil {
			r.perUser = make(map[string]int)
		}
		r.perUser[c.Account()]++
	}
	e = &registration{registry: r, caller: c}
	ctx, e.cancel = context.WithCancelCause(parent)
	if r.open == nil {
		r.open = make(map[*registration]struct{})
	}
	r.open[e] = struct{}{}
	return e, ctx, nil
}

// authenticated returns the open streams of authenticated callers.
func (r *registry) authenticated() []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var authenticated []*registration
	for e := range r.open {
		if e.caller != nil {
			authenticated = append(authenticated, e)
		}
	}
	return authenticated
}

// revoke ends the stream with an ERROR frame that says why.
func (e *registration) revoke(why error) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	if e.revoked.CompareAndSwap(nil, &why) {
		e.endLocked()
	}
}

// SetLoop records that a loop serves the stream from now on.
func (e *registration) SetLoop(l loop) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.cancel(context.Canceled)
	e.loop, e.cancel, e.conn = l, nil, nil
	if e.mustEndLocked() {
		e.endLocked()
	}
	if e.registry.aborting {
		e.abortLocked()
	}
}

// setConn records the connection that the stream's goroutine has taken from net/http; nil: none.
func (e *registration) setConn(r transport.Aborter) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.conn = r
	if e.registry.aborting {
		e.abortLocked()
	}
}

// abortLocked breaks the stream, also under a write that waits for the client. What net/http has is not ours to break.
func (e *registration) abortLocked() {
	switch {
	case e.loop != nil:
		e.loop.Abort()
	case e.conn != nil:
		e.cancel(socket.ErrPeerGone)
		e.conn.Abort()
	}
}

// resume records that a goroutine serves the stream again, and returns the stream's context.
func (e *registration) resume(parent context.Context) context.Context {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	e.loop, e.cancel = nil, cancel
	if e.mustEndLocked() {
		e.endLocked()
	}
	return ctx
}

func (e *registration) mustEndLocked() bool { return e.draining || e.revoked.Load() != nil }

func (e *registration) endLocked() {
	why := e.revoked.Load()
	switch {
	case e.loop != nil && why != nil:
		e.loop.Refuse(*why)
	case e.loop != nil:
		e.loop.End()
	case e.cancel == nil: // it has ended
	case why != nil:
		e.cancel(*why)
	default:
		e.cancel(status.ErrDraining)
	}
}

// Done removes the stream. It is called once.
func (e *registration) Done() {
	r := e.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.cancel != nil {
		e.cancel(context.Canceled)
	}
	delete(r.open, e)
	if e.caller != nil && r.Limit > 0 {
		if r.perUser[e.caller.Account()]--; r.perUser[e.caller.Account()] == 0 {
			delete(r.perUser, e.caller.Account())
		}
	}
	if len(r.open) == 0 && r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}
