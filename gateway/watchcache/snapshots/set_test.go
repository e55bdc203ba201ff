package snapshots

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// state is a snapshot of a test: its number of bytes is its identity.
type state struct{ name int }

// TestBound holds, keeps and releases snapshots at random, while the state changes. The memory of all, computed from the changes between them, is never more
// than the bound and one state.
func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Set[state]{Mutex: new(sync.Mutex), MaxBytes: 1000}
		newest, readers := Cost{Size: 100}, []*Held[state](nil)
		defer s.Forget() // stops the timers
		for n := range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				newest.Released += rapid.IntRange(0, 2000).Draw(t, "released")
				newest.Size = rapid.IntRange(50, 700).Draw(t, "size")
			case 2, 5, 6:
				readers = append(readers, s.Hold(&state{n}, newest, newest))
			case 3:
				cost := newest
				cost.Loaded = rapid.Bool().Draw(t, "loaded")
				s.Keep(&state{n}, cost, newest)
			case 4:
				if len(readers) > 0 {
					i := rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
					s.Release(readers[i])
					readers = slices.Delete(readers, i, i+1)
				}
			}
			s.check(t, readers, newest)
		}
		for _, h := range readers {
			s.Release(h)
		}
		if s.Forget(); s.Len() > 0 || len(s.kept) > 0 {
			t.Fatalf("%d snapshots are held, and %d kept", s.Len(), len(s.kept))
		}
	})
}

// check checks what holds after each call.
func (s *Set[S]) check(t *rapid.T, readers []*Held[S], newest Cost) {
	if !slices.IsSortedFunc(s.held, func(a, b *Held[S]) int { return a.cost.Released - b.cost.Released }) {
		t.Fatal("the snapshots are not in their order")
	}
	for _, h := range s.held {
		if h.Snapshot() == nil || h.readers == 0 && h.expiry == nil {
			t.Fatal("a snapshot is held that was dropped, or that no client wants")
		}
	}
	for _, h := range readers {
		if (h.Snapshot() != nil) != slices.Contains(s.held, h) {
			t.Fatal("a snapshot is read that is not held, or was dropped and is held")
		}
	}
	if last := len(s.held) - 1; last > 0 {
		before := s.bytes(newest) - s.bytesOf(last, newest)
		if limit := max(s.MaxBytes, 1400) + 700; before > limit {
			t.Fatalf("the snapshots before the last take %d bytes, want %d at most", before, limit)
		}
	}
}

// TestReadersOfOneState checks that a state that has not changed is one snapshot, and that one that was read from etcd is another.
func TestReadersOfOneState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cost := Set[state]{Mutex: new(sync.Mutex), MaxBytes: 1000}, Cost{Size: 100, Released: 50}
		s.Mutex.Lock()
		first := s.Hold(&state{1}, cost, cost)
		if again := s.Hold(&state{2}, cost, cost); again != first {
			t.Error("the same state is held twice")
		}
		loaded := cost
		loaded.Loaded = true
		s.Keep(&state{3}, loaded, cost)
		if s.Len() != 2 || s.bytes(cost) != 100 {
			t.Errorf("%d snapshots of %d bytes, want 2 of 100", s.Len(), s.bytes(cost))
		}
		if found := s.Find(func(*state) bool { return true }); found == nil || found.name != 3 {
			t.Errorf("the kept snapshot is %v", found)
		}
		s.Release(first)
		s.Release(first)
		s.Mutex.Unlock()
		<-time.After(KeepTime + time.Second)
		s.Mutex.Lock()
		defer s.Mutex.Unlock()
		if s.Len() != 0 {
			t.Errorf("%d snapshots are held", s.Len())
		}
	})
}

// TestRoom checks that loaded snapshots have a bound of their own, and that only those that clients read drop what others read.
func TestRoom(t *testing.T) {
	s, newest := Set[state]{Mutex: new(sync.Mutex), MaxBytes: 256}, Cost{Size: 200, Released: 1000}
	defer s.Forget() // stops the timers
	slow := s.Hold(&state{0}, Cost{Size: 200, Released: 850}, newest)
	loaded := Cost{Size: 200, Released: 1000, Loaded: true}
	var kept []*state
	for name := range 3 {
		kept = append(kept, &state{name})
		s.Keep(kept[name], loaded, newest)
	}
	if slow.Snapshot() == nil || s.Len() != 2 || s.Find(func(*state) bool { return true }) != kept[2] {
		t.Errorf("of three snapshots of 200 bytes, kept beside a reader of one, %d are held", s.Len()-1)
	}
	read := s.Hold(kept[2], loaded, newest)
	if more := s.Hold(&state{4}, loaded, newest); slow.Snapshot() != nil || read.Snapshot() == nil || more.Snapshot() == nil || s.Dropped != 1 {
		t.Errorf("a second one that is read: %d dropped, want the oldest reader's", s.Dropped)
	}
}
