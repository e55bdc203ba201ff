package watchcache

import (
	"fmt"
	"testing"
)

// next returns the next batch of a watcher, which must not wait.
func (w *world) next(watcher *Watcher) Batch {
	w.t.Helper()
	batch, err := watcher.Next(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return batch
}

// puts writes n objects, each at its own revision.
func (w *world) puts(n int) {
	for i := range n {
		w.put(fmt.Sprintf("a/%04d", i), "1", "")
	}
}

// decideResuming moves watchers past the revision at which they resume, because only then they share batches.
func (w *world) decideResuming(watchers ...*Watcher) {
	w.put("a/x", "2", "")
	for _, watcher := range watchers {
		w.next(watcher)
	}
}

// TestWatcherAheadOfTheLogSharesNothing checks that events which history has delivered to one watcher before they were in the log are still
// delivered to others.
func TestWatcherAheadOfTheLogSharesNothing(t *testing.T) {
	for _, attached := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			start := w.put("a/x", "1", "")
			ahead, other := w.watch(WatchQuery{After: start}), w.watch(WatchQuery{After: start})
			w.decideResuming(ahead, other)
			next := w.next
			if attached {
				ready, reader := NewReadyList(func() {}), new(Reader)
				ahead.Attach(ready, nil)
				other.Attach(ready, nil)
				next = func(watcher *Watcher) Batch {
					batch, _, err := reader.Poll(watcher)
					if err != nil {
						t.Fatal(err)
					}
					return batch
				}
			}
			ahead.through++ // it has delivered the first of these two
			w.puts(2)
			if got := len(next(ahead).Changes); got != 1 {
				t.Errorf("attached %t: %d changes for the watcher ahead, want 1", attached, got)
			}
			if got := len(next(other).Changes); got != 2 {
				t.Errorf("attached %t: %d changes for the other, want 2", attached, got)
			}
		})
	}
}
