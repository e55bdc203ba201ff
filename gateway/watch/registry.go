package watch

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"revtail/gateway/access"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
)

// registry holds the open streams: it shares their number among users, and ends them when the server drains or a caller loses the right to its
// stream. Its methods may be called by any goroutine.
type registry struct {
	mu        sync.Mutex // guards the fields below, except Pool, and the fields of the open streams
	announced bool       // AnnounceDrain was called
	draining  bool       // Drain was called: Add refuses new streams
	aborting  bool       // the time to drain is over: every connection is broken
	open      openSet[*registration]
	Pool      *flowcontrol.Pool // whose seats the streams hold; nil: no limits. Set before the first Add
	ended     chan struct{}     // closed by Done of the last open stream; nil: Drain does not wait for it
}

// registration is the entry of one open stream in the registry. Either a goroutine serves the stream, until its context ends, or an event
// loop does.
type registration struct {
	registry *registry
	caller   *access.Caller // nil: authentication, authorization and auditing are off
	seat     flowcontrol.Seats
	cancel   context.CancelCauseFunc // ends the context of the goroutine; nil: a loop serves the stream
	loop     loop                    // nil: a goroutine serves the stream
	conn     transport.Aborter       // to which the goroutine writes directly, so that net/http cannot break it; nil: net/http writes
	draining bool                    // Drain has ended the stream
	revoked  atomic.Pointer[error]   // why the caller lost the right to the stream; nil: the caller has the right
}

// AnnounceDrain marks the start of a shutdown: watches that end after it, without an error, count as ended by the shutdown. Add still
// accepts streams.
func (r *registry) AnnounceDrain() {
	r.mu.Lock()
	r.announced = true
	r.mu.Unlock()
}

// ShuttingDown reports whether AnnounceDrain or Drain was called.
func (r *registry) ShuttingDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.announced || r.draining
}

// Add registers the stream of a request. Without a caller it is never revoked. The context that Add returns ends with that of the request, with the cause status.ErrDraining when Drain ends the stream, and with the error of the revocation as the cause when the caller
// loses the right to it. The caller of Add calls Done when the stream has ended. The error is status.ErrDraining during a drain, or a
// *flowcontrol.RejectedError if the user has its share of streams; then nothing is registered.
func (r *registry) Add(stream *http.Request) (e *registration, ctx context.Context, err error) {
	seat, err := r.Pool.Acquire(stream.Context(), access.AccountOf(stream), 1)
	if err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		seat.Release()
		return nil, nil, status.ErrDraining
	}
	e = &registration{registry: r, caller: access.CallerOf(stream), seat: seat}
	ctx, e.cancel = context.WithCancelCause(stream.Context())
	r.open.add(e)
	return e, ctx, nil
}

// authenticated returns the open streams that have a caller.
func (r *registry) authenticated() []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var authenticated []*registration
	for e := range r.open.all() {
		if e.caller != nil {
			authenticated = append(authenticated, e)
		}
	}
	return authenticated
}

// Revoked returns why the caller has lost the right to the stream; nil: the caller has it.
func (e *registration) Revoked() error {
	if why := e.revoked.Load(); why != nil {
		return *why
	}
	return nil
}

// revoke ends the stream with an ERROR frame of the error why. Only the first call has an effect.
func (e *registration) revoke(why error) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	if e.revoked.CompareAndSwap(nil, &why) {
		e.endLocked()
	}
}

// SetLoop records that an event loop serves the stream, and ends the context of the goroutine that served it before. The loop calls it on its
// own goroutine. If the stream must end, SetLoop calls End, Refuse or Abort of l at once, and holds the lock of the registry meanwhile.
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

// setConn records the connection to which the goroutine of the stream writes directly; nil: net/http writes. It breaks the connection at
// once if the time to drain is over.
func (e *registration) setConn(r transport.Aborter) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.conn = r
	if e.registry.aborting {
		e.abortLocked()
	}
}

// abortLocked breaks the connection of the stream, which also ends a write that waits for the client. It does nothing if net/http writes to
// the connection, because http.Server.Close breaks that.
func (e *registration) abortLocked() {
	switch {
	case e.loop != nil:
		e.loop.Abort()
	case e.conn != nil:
		e.cancel(socket.ErrPeerGone)
		e.conn.Abort()
	}
}

// resume records that a goroutine serves the stream again, and returns the context of the stream. The context has ended already if the
// stream must end.
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

// mustEndLocked reports whether Drain or revoke has ended the stream.
func (e *registration) mustEndLocked() bool { return e.draining || e.revoked.Load() != nil }

// endLocked ends the stream where it is served: by the event loop, or by the context of its goroutine.
func (e *registration) endLocked() {
	why := e.revoked.Load()
	switch {
	case e.loop != nil && why != nil:
		e.loop.Refuse(*why)
	case e.loop != nil:
		e.loop.End()
	case e.cancel == nil: // it has ended already
	case why != nil:
		e.cancel(*why)
	default:
		e.cancel(status.ErrDraining)
	}
}

// Done ends the context of the stream and removes the stream from the registry. It is called once, when the stream has ended.
func (e *registration) Done() {
	r := e.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.cancel != nil {
		e.cancel(context.Canceled)
	}
	r.open.remove(e)
	e.seat.Release()
	if r.open.len() == 0 && r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}
