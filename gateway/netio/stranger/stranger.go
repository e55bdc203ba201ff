package stranger

import (
	"container/list"
	"context"
	"net"
	"sync/atomic"
	"time"
)

// Stranger is one connection. Any goroutine may call its methods. A nil Stranger is known.
type Stranger struct {
	registry *Registry
	abort    func() // closes the connection
	known    atomic.Bool

	// The registry's mutex guards the fields below.
	place   *list.Element // nil: it has been removed
	bytes   int           // charged
	since   time.Time     // of the last step
	onKnown func()        // nil: none
}

// IsKnown reports whether a request of the connection has been authenticated.
func (s *Stranger) IsKnown() bool { return s == nil || s.known.Load() }

// Known is called when a request of the connection has been authenticated. The connection is charged nothing from then on.
func (s *Stranger) Known() {
	if s.IsKnown() || s.known.Swap(true) {
		return
	}
	s.registry.mu.Lock()
	s.registry.removeLocked(s)
	tell := s.onKnown
	s.registry.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// OnKnown makes Known call tell, once, on its goroutine. It must be called before the first request.
func (s *Stranger) OnKnown(tell func()) {
	if s == nil {
		return
	}
	s.registry.mu.Lock()
	s.onKnown = tell
	s.registry.mu.Unlock()
}

// Step records that the connection has made a step: it has finished its TLS handshake, or a request has been answered. Single bytes are no
// step, because a connection that sends them slowly would never be idle.
func (s *Stranger) Step() {
	if s.IsKnown() {
		return
	}
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.place != nil {
		s.since = time.Now()
		r.idle.MoveToBack(s.place)
	}
}

// Charge adds n bytes of memory that the connection keeps, or subtracts them if n is negative. If the connection keeps more than MaxConn, it is
// cut. If all strangers together keep more than they may, the oldest idle ones are cut.
func (s *Stranger) Charge(n int) {
	if s.IsKnown() {
		return
	}
	for _, victim := range s.registry.charge(s, n) {
		victim.abort()
	}
}

// charge returns the strangers that must be cut.
func (r *Registry) charge(s *Stranger, n int) (victims []*Stranger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.place == nil {
		return nil
	}
	r.chargeLocked(s, n)
	if s.bytes > MaxConn {
		r.cutLocked(s)
		victims = append(victims, s)
	}
	for r.bytes > r.max {
		oldest := r.oldestLocked()
		r.cutLocked(oldest)
		victims = append(victims, oldest)
	}
	return victims
}

// Leave is called when the connection is closed.
func (s *Stranger) Leave() {
	if s.IsKnown() {
		return
	}
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	s.registry.removeLocked(s)
}

// Of returns the Stranger of a connection that has a method Stranger, or of a connection below it; nil: there is none.
func Of(conn net.Conn) *Stranger {
	for {
		switch below := conn.(type) {
		case interface{ Stranger() *Stranger }:
			return below.Stranger()
		case interface{ NetConn() net.Conn }:
			conn = below.NetConn()
		default:
			return nil
		}
	}
}

type contextKey struct{}

// NewContext returns a context that has the Stranger of its connection.
func NewContext(ctx context.Context, s *Stranger) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the Stranger of NewContext; nil: there is none.
func FromContext(ctx context.Context) *Stranger {
	s, _ := ctx.Value(contextKey{}).(*Stranger)
	return s
}
