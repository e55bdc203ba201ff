package stranger

import (
	"container/list"
	"sync"
	"time"
)

const (
	// MaxConn is how many bytes of memory one stranger may fill. A stranger that fills more is cut.
	MaxConn = 256 << 10
	// maxTotal is how many bytes all strangers together may fill. When they fill more, the oldest idle one is cut.
	maxTotal = 64 << 20
	// connSize is what a stranger costs before it has sent anything: goroutines, and the buffers of TLS and net/http.
	connSize = 32 << 10
	// grace is how long after its last step Add cuts no stranger, so that thousands of clients that connect at the same moment do not cut each
	// other.
	grace = 2 * time.Second
)

// Registry holds the strangers. Any goroutine may call its methods.
type Registry struct {
	max int // bytes of all strangers

	mu       sync.Mutex    // guards the fields below, and the fields of the strangers
	idle     list.List     // of *Stranger: the one whose last step is the oldest comes first
	bytes    int           // charged to all strangers
	cut      uint64        // strangers that were cut
	released chan struct{} // capacity 1; signaled when bytes becomes smaller
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	return &Registry{max: maxTotal, released: make(chan struct{}, 1)}
}

// Figures are the figures of a Registry.
type Figures struct {
	Strangers, Bytes int
	Cut              uint64 // strangers that were cut since the start
}

// Figures returns the current figures.
func (r *Registry) Figures() Figures {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Figures{Strangers: r.idle.Len(), Bytes: r.bytes, Cut: r.cut}
}

// Add adds a stranger that has just connected. cut closes its connection; it is called at most once, by any goroutine, and must not block.
// If the strangers fill the memory that they may fill, Add cuts the oldest idle one, for which it may wait 2 s. The caller calls
// [Stranger.Leave] when the connection is closed.
func (r *Registry) Add(cut func()) *Stranger {
	for {
		s, victim, wait := r.tryAdd(cut)
		if victim != nil {
			victim.abort()
		}
		if s != nil {
			return s
		}
		if wait > 0 {
			r.await(wait)
		}
	}
}

// tryAdd adds a stranger if there is room. Otherwise it removes the oldest idle one, which the caller cuts, or returns how long there is
// none that may be cut.
func (r *Registry) tryAdd(cut func()) (added, victim *Stranger, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+connSize <= r.max || r.idle.Len() == 0 {
		s := &Stranger{registry: r, abort: cut, since: time.Now()}
		s.place = r.idle.PushBack(s)
		r.chargeLocked(s, connSize)
		return s, nil, 0
	}
	oldest := r.oldestLocked()
	if wait := grace - time.Since(oldest.since); wait > 0 {
		return nil, nil, wait
	}
	r.cutLocked(oldest)
	return nil, oldest, 0
}

func (r *Registry) await(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.released:
	case <-timer.C:
	}
}

func (r *Registry) oldestLocked() *Stranger { return r.idle.Front().Value.(*Stranger) }

func (r *Registry) chargeLocked(s *Stranger, n int) {
	s.bytes += n
	r.bytes += n
	if n < 0 {
		select {
		case r.released <- struct{}{}:
		default:
		}
	}
}

// cutLocked removes a stranger that the caller cuts.
func (r *Registry) cutLocked(s *Stranger) {
	r.cut++
	r.removeLocked(s)
}

// removeLocked removes a stranger. It does nothing if the stranger has been removed.
func (r *Registry) removeLocked(s *Stranger) {
	if s.place == nil {
		return
	}
	r.idle.Remove(s.place)
	s.place = nil
	r.chargeLocked(s, -s.bytes)
}
