package snapshots

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxBytes is the Set.MaxBytes of a cache.
	MaxBytes = 256 << 20
	// KeepTime is how long a snapshot is kept after its last page.
	KeepTime = 2 * time.Minute
	// maxKept bounds the snapshots that are kept for further pages.
	maxKept = 8
)

// Cost says how much memory a snapshot takes. It shares memory with the state of which it is a copy, and so costs what changes of the state have
// released since, which may be all of it.
type Cost struct {
	Size     int  // bytes of the documents
	Released int  // bytes that all changes of the state have released before the snapshot: each releases some
	Loaded   bool // the snapshot was read from etcd, and shares no memory with the state
}

// Held is a snapshot that clients read or page through.
type Held[S any] struct {
	snapshot atomic.Pointer[S] // nil: dropped
	cost     Cost
	readers  int
	expiry   *time.Timer // nil: it is not kept for further pages
}

// NewHeld returns a snapshot that is in no Set.
func NewHeld[S any](snapshot *S) *Held[S] {
	h := new(Held[S])
	h.snapshot.Store(snapshot)
	return h
}

// Snapshot returns the snapshot; nil: it was dropped, and the reader cannot read on. Any goroutine may call it.
func (h *Held[S]) Snapshot() *S { return h.snapshot.Load() }

// Set is the held snapshots of a cache. If they take more than MaxBytes, and more than twice the newest one, some are dropped: first those that
// no client reads, then the oldest. The mutex of the cache guards the Set. The argument newest is the cost of the newest snapshot.
type Set[S any] struct {
	Mutex    sync.Locker // of the cache
	MaxBytes int
	Dropped  int // snapshots that were dropped although clients read them

	held      []*Held[S] // by Cost.Released, so oldest first
	kept      []*Held[S] // of held: those that are kept for further pages, oldest first
	nextBound int        // the memory is not computed before changes have released so many bytes
}

// Len returns the number of held snapshots.
func (s *Set[S]) Len() int { return len(s.held) }

// Hold adds a reader to a snapshot. The reader calls Release.
func (s *Set[S]) Hold(snapshot *S, cost, newest Cost) *Held[S] {
	h := s.get(snapshot, cost, newest)
	h.readers++
	return h
}

// Release removes a reader.
func (s *Set[S]) Release(h *Held[S]) {
	if h.readers--; h.readers == 0 && h.expiry == nil {
		s.remove(h)
	}
}

// Keep keeps a snapshot for further pages.
func (s *Set[S]) Keep(snapshot *S, cost, newest Cost) {
	h := s.get(snapshot, cost, newest)
	if h.expiry != nil {
		h.expiry.Reset(KeepTime)
		return
	}
	if len(s.kept) == maxKept {
		s.expire(s.kept[0])
	}
	h.expiry = time.AfterFunc(KeepTime, func() {
		s.Mutex.Lock()
		defer s.Mutex.Unlock()
		s.expire(h)
	})
	s.kept = append(s.kept, h)
}

// Find returns the newest kept snapshot that matches, and keeps it anew; nil: there is none.
func (s *Set[S]) Find(matches func(*S) bool) *S {
	for _, h := range slices.Backward(s.kept) {
		if found := h.snapshot.Load(); matches(found) {
			h.expiry.Reset(KeepTime)
			return found
		}
	}
	return nil
}

// Forget removes all snapshots. Clients that read them read on.
func (s *Set[S]) Forget() {
	for len(s.kept) > 0 {
		s.expire(s.kept[0])
	}
	s.held, s.nextBound = nil, 0
}

// get returns a snapshot of the set, which it adds if it is not there.
func (s *Set[S]) get(snapshot *S, cost, newest Cost) *Held[S] {
	i := s.search(cost.Released)
	for ; i < len(s.held) && s.held[i].cost.Released == cost.Released; i++ {
		h := s.held[i]
		if !h.cost.Loaded && !cost.Loaded { // the state has not changed
			h.snapshot.Store(snapshot) // which may be as of a later revision
			return h
		}
		if h.snapshot.Load() == snapshot {
			return h
		}
	}
	if cost.Loaded {
		s.MakeRoom(cost.Size, newest)
		s.drop(max(s.MaxBytes, 2*newest.Size, cost.Size)-cost.Size, newest)
	} else {
		s.bound(newest)
	}
	h := NewHeld(snapshot)
	h.cost = cost
	s.held = slices.Insert(s.held, s.search(cost.Released+1), h)
	if cost.Loaded {
		s.nextBound = 0
	}
	return h
}

// search returns the index of the first snapshot before which at least so many bytes were released.
func (s *Set[S]) search(released int) int {
	return sort.Search(len(s.held), func(i int) bool { return s.held[i].cost.Released >= released })
}

// expire keeps a snapshot no longer for further pages. Clients that read it read on.
func (s *Set[S]) expire(h *Held[S]) {
	if h.expiry == nil {
		return
	}
	h.expiry.Stop() // it would keep the snapshot in memory
	h.expiry = nil
	s.kept = slices.DeleteFunc(s.kept, func(other *Held[S]) bool { return other == h })
	if h.readers == 0 {
		s.remove(h)
	}
}

// remove removes a snapshot, unless it was dropped or forgotten before.
func (s *Set[S]) remove(h *Held[S]) {
	for i := s.search(h.cost.Released); i < len(s.held) && s.held[i].cost.Released == h.cost.Released; i++ {
		if s.held[i] == h {
			s.held = slices.Delete(s.held, i, i+1)
			return
		}
	}
}

// MakeRoom drops loaded snapshots that no client reads, until all loaded ones and another one of a size take no more than MaxBytes, or the size of the
// newest snapshot. There is always room for one.
func (s *Set[S]) MakeRoom(size int, newest Cost) {
	room := max(s.MaxBytes, newest.Size, size) - size
	for _, h := range slices.Backward(slices.Clone(s.kept)) {
		if !h.cost.Loaded {
			continue
		}
		if room -= h.cost.Size; room < 0 && h.readers == 0 {
			s.expire(h)
		}
	}
}

// bound drops snapshots if all of them take too much memory, so many that an eighth more has room. It looks at them only if changes have released so much
// since the last look that they may take too much.
func (s *Set[S]) bound(newest Cost) {
	if len(s.held) == 0 || newest.Released < s.nextBound {
		return
	}
	limit, bytes := max(s.MaxBytes, 2*newest.Size), s.bytes(newest)
	if bytes > limit {
		bytes = s.drop(limit-limit/8, newest)
	}
	s.nextBound = newest.Released + limit - bytes
}

// drop drops snapshots until the others take so many bytes at most, and returns how many these are.
func (s *Set[S]) drop(most int, newest Cost) int {
	for _, h := range slices.Clone(s.kept) {
		if h.readers == 0 && s.bytes(newest) > most {
			s.expire(h)
		}
	}
	n, bytes := 0, s.bytes(newest)
	for ; bytes > most; n++ {
		bytes -= s.bytesOf(n, newest)
	}
	for _, h := range s.held[:n] { // clients read all of them, so expire leaves them there
		s.Dropped++
		h.snapshot.Store(nil)
		s.expire(h)
	}
	s.held = slices.Delete(s.held, 0, n)
	return bytes
}

func (s *Set[S]) bytes(newest Cost) (bytes int) {
	for i := range s.held {
		bytes += s.bytesOf(i, newest)
	}
	return bytes
}

// bytesOf is at most how much memory a snapshot takes beside the later ones and the state: what changes have released until the next one, and not more
// than all of it.
func (s *Set[S]) bytesOf(i int, newest Cost) int {
	h, next := s.held[i], newest.Released
	if h.cost.Loaded {
		return h.cost.Size
	}
	for _, later := range s.held[i+1:] {
		if !later.cost.Loaded {
			next = later.cost.Released
			break
		}
	}
	return min(h.cost.Size, next-h.cost.Released)
}
