package watchcache

import (
	"fmt"
	"testing"
)

// next is the next batch of a watcher, which must not have to wait for it.
func (w *world) next(watcher *Watcher) Batch {
	w.t.Helper()
	batch, err := watcher.Next(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return batch
}

// puts writes n objects, each at a revision of its own, and lets the cache have them.
func (w *world) puts(n int) {
	for i := range n {
		w.put(fmt.Sprintf("a/%04d", i), "1", "")
	}
}

func TestWatchersAtOnePlaceShareWhatIsMade(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "1", "")
		one, other := w.watch(WatchQuery{After: start}), w.watch(WatchQuery{After: start})
		narrow := w.watch(WatchQuery{After: start, Namespace: "a"})
		w.pastResuming(one, other)
		w.next(narrow)
		w.puts(3)
		made := 0
		make := func() []byte { made++; return []byte{byte(made)} }
		for _, watcher := range []*Watcher{one, other} {
			batch := w.next(watcher)
			if len(batch.Changes) != 3 || batch.Memo == nil {
				t.Fatalf("%d changes, Memo %v", len(batch.Changes), batch.Memo)
			}
			if got := batch.Memo.Bytes("frames", make); got[0] != 1 {
				t.Errorf("made again: %v", got)
			}
			if got := batch.Memo.Bytes("other frames", make); got[0] != 2 {
				t.Errorf("of something else: %v", got)
			}
		}
		if got := w.next(narrow).Memo.Bytes("frames", make); got[0] != 3 {
			t.Errorf("a watcher of something else got %v", got)
		}
	})
}

// pastResuming brings watchers past the revision that they resume at: only then do they share.
func (w *world) pastResuming(watchers ...*Watcher) {
	w.put("a/x", "2", "")
	for _, watcher := range watchers {
		w.next(watcher)
	}
}

// TestLateWatchersMeet: those that fell behind at different places read the same after a while.
func TestLateWatchersMeet(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "1", "")
		one, other := w.watch(WatchQuery{After: start}), w.watch(WatchQuery{After: start})
		w.pastResuming(one, other)
		w.puts(5)
		w.next(one)
		w.puts(3 * sharedEvents)
		memos := map[*Memo]bool{}
		for range 2 {
			memos[w.next(one).Memo] = true
		}
		shared := 0
		for range 3 {
			if memos[w.next(other).Memo] {
				shared++
			}
		}
		if shared == 0 {
			t.Error("they read on side by side")
		}
	})
}

func TestMemoKeepsFew(t *testing.T) {
	var memo Memo
	made := 0
	for range 2 {
		for i := range memos + 1 {
			memo.Bytes(i, func() []byte { made++; return nil })
		}
	}
	if want := memos + 2; made != want {
		t.Errorf("made %d times, want %d", made, want)
	}
}

// TestWhoIsAheadOfTheLogSharesNothing: what etcd's history has delivered to one watcher before the log had it, is new to others.
func TestWhoIsAheadOfTheLogSharesNothing(t *testing.T) {
	for _, attached := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			start := w.put("a/x", "1", "")
			ahead, other := w.watch(WatchQuery{After: start}), w.watch(WatchQuery{After: start})
			w.pastResuming(ahead, other)
			next := w.next
			if attached {
				ready, reader := NewReady(func() {}), new(Reader)
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
			ahead.through++ // it has had the first of these two
			w.puts(2)
			if got := len(next(ahead).Changes); got != 1 {
				t.Errorf("attached %t: %d changes for who is ahead, want 1", attached, got)
			}
			if got := len(next(other).Changes); got != 2 {
				t.Errorf("attached %t: %d changes for the other, want 2", attached, got)
			}
		})
	}
}
