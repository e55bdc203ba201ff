package watchcache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/history"
)

// bubble runs a test with a world in fake time. No goroutine may be left at its end.
func bubble(t *testing.T, prepare func(*memory.Store), test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, prepare)) })
}

func TestWatchAfterARevision(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "1", "")
		after := w.put("a/x", "2", "")
		w.put("a/x", "3", "")
		w.put("a/y", "4", "")
		w.remove("a/x")
		w.expect(w.watch(WatchQuery{After: after}), "MODIFIED a/x l=3 rv=4", "ADDED a/y l=4 rv=5", "DELETED a/x l=3 rv=6")
	})
}

func TestWatchSelectorTransitions(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "1", "")
		w.put("a/y", "2", "")
		start := w.put("a/z", "1", "")
		watcher := w.watch(WatchQuery{After: start, Selector: parse(t, "l=1", "")})
		w.put("a/x", "2", "")  // no longer matches
		w.put("a/y", "1", "")  // starts to match
		w.put("a/z", "1", "v") // still matches
		w.put("a/x", "3", "")  // still does not match
		w.remove("a/x")        // no event
		w.remove("a/z")
		w.expect(watcher, "DELETED a/x l=1 rv=5", "ADDED a/y l=1 rv=6", "MODIFIED a/z l=1 rv=7", "DELETED a/z l=1 rv=10")
	})
}

func TestWatchFieldSelector(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "", "red")
		start := w.put("a/y", "", "blue")
		watcher := w.watch(WatchQuery{After: start, Selector: parse(t, "", "spec.value=red")})
		w.put("a/x", "", "green")
		w.put("a/y", "", "red")
		w.expect(watcher, "DELETED a/x l= rv=4", "ADDED a/y l= rv=5")
	})
}

func TestWatchScopes(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		namespace := w.watch(WatchQuery{After: start, Namespace: "a"})
		object := w.watch(WatchQuery{After: start, Namespace: "a", Name: "x"})
		name := w.watch(WatchQuery{After: start, Name: "x"})
		w.put("a/x2", "", "")
		w.put("ab/x", "", "")
		w.put("a/x", "", "")
		w.expect(namespace, "ADDED a/x2 l= rv=3", "MODIFIED a/x l= rv=5")
		w.expect(object, "MODIFIED a/x l= rv=5")
		w.expect(name, "ADDED ab/x l= rv=4", "MODIFIED a/x l= rv=5")
	})
}

// Only events of its scope wake a watcher.
func TestWatchWakesByScope(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		quiet := w.watch(WatchQuery{After: start, Namespace: "quiet"})
		if _, err := quiet.Poll(); err != nil { // begins only with Next
			t.Fatal(err)
		}
		got := make(chan Batch, 1)
		go func() {
			batch, _ := quiet.Next(w.t.Context())
			got <- batch
		}()
		synctest.Wait()
		w.cache.mu.Lock()
		waiting := w.cache.waitLists[wakeKey{scope: scope{namespace: "quiet"}}]
		w.cache.mu.Unlock()
		for i := range 100 {
			w.put("a/x", fmt.Sprint(i), "")
		}
		w.cache.mu.Lock()
		if waiting == nil || w.cache.waitLists[wakeKey{scope: scope{namespace: "quiet"}}] != waiting {
			t.Error("a change of another scope woke the watcher")
		}
		w.cache.mu.Unlock()
		w.put("quiet/x", "", "")
		if batch := <-got; len(batch.Changes) != 1 {
			t.Errorf("the watcher got %d changes", len(batch.Changes))
		}
	})
}

func TestWatchPollReturnsItsRevision(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		watcher := w.watch(WatchQuery{After: start, Namespace: "quiet"})
		w.expect(watcher)
		newest := w.put("a/x", "1", "")
		if batch, err := watcher.Poll(); err != nil || batch.Through != newest {
			t.Errorf("Poll returns %d (%v), want %d without events of the scope", batch.Through, err, newest)
		}
	})
}

// Events that the log has dropped come from etcd's history, which then meets the log.
func TestWatchOlderThanTheLog(t *testing.T) {
	prepare := func(s *memory.Store) {
		for i := range 10 {
			s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), ""), root + "b/x": thing("b/x", fmt.Sprint(i), "")}, nil)
		}
	}
	bubble(t, prepare, func(w *world) {
		watcher := w.watch(WatchQuery{After: 8, Namespace: "a"})
		w.expect(watcher, "MODIFIED a/x l=7 rv=9", "MODIFIED a/x l=8 rv=10", "MODIFIED a/x l=9 rv=11")
		if watcher.history != nil {
			t.Error("the watcher still reads history")
		}
		w.put("a/x", "10", "")
		w.expect(watcher, "MODIFIED a/x l=10 rv=12")
	})
}

// A reader that falls behind the log loses nothing.
func TestWatchSlowerThanTheLog(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.cache.mu.Lock()
		w.cache.log.limit = 8
		w.cache.log.reset(w.cache.through)
		w.cache.mu.Unlock()
		watcher := w.watch(WatchQuery{State: true})
		w.expect(watcher)
		var want []string
		for i := range 50 {
			revision := w.put("a/x", fmt.Sprint(i), "")
			kind := "MODIFIED"
			if i == 0 {
				kind = "ADDED"
			}
			want = append(want, fmt.Sprintf("%s a/x l=%d rv=%d", kind, i, revision))
		}
		w.expect(watcher, want...)
		if n := w.cache.Stats().HistoryReads; n == 0 {
			t.Error("the stats count no reads of history")
		}
	})
}

// Received is the time at which the first event of a batch was received; initial events and events of the past have none.
func TestWatchBatchHasTheTimeOfItsFirstEvent(t *testing.T) {
	prepare := func(s *memory.Store) {
		for i := range 10 {
			s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), "")}, nil)
		}
	}
	bubble(t, prepare, func(w *world) {
		next := func(watcher *Watcher) Batch {
			batch, err := watcher.Next(w.t.Context())
			if err != nil || len(batch.Changes) == 0 {
				t.Fatalf("%+v, %v", batch, err)
			}
			return batch
		}
		state, past := w.watch(WatchQuery{State: true}), w.watch(WatchQuery{After: 5})
		for what, watcher := range map[string]*Watcher{"the state": state, "the past": past} {
			if at := next(watcher).Received; !at.IsZero() {
				t.Errorf("%s was received at %v", what, at)
			}
		}
		<-time.After(time.Hour)
		began := time.Now()
		w.put("a/y", "1", "")
		for what, watcher := range map[string]*Watcher{"after the state": state, "after the past": past} {
			if at := next(watcher).Received; at.Before(began) {
				t.Errorf("the write %s was received at %v, before %v", what, at, began)
			}
		}
	})
}

func TestWatchCompacted(t *testing.T) {
	prepare := func(s *memory.Store) {
		for i := range 10 {
			s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), "")}, nil)
		}
	}
	bubble(t, prepare, func(w *world) {
		w.compact(8)
		expired := w.watch(WatchQuery{After: 3})
		_, _, err := w.drain(expired)
		var gone *ExpiredError
		if !errors.As(err, &gone) || gone.Requested != 3 {
			t.Errorf("a watch after a compacted revision gets %v", err)
		}
		if _, again := expired.Next(w.t.Context()); !errors.Is(again, err) {
			t.Errorf("after it %v", again)
		}
		w.expect(w.watch(WatchQuery{After: 8}), "MODIFIED a/x l=7 rv=9", "MODIFIED a/x l=8 rv=10", "MODIFIED a/x l=9 rv=11")
	})
}

// The previous value of a delete at the compacted revision is lost, so the watch ends with 410 instead of an event without an object.
func TestWatchDeleteAtTheCompactionEdge(t *testing.T) {
	prepare := func(s *memory.Store) {
		s.Txn(map[string][]byte{root + "a/x": thing("a/x", "", "")}, nil)
		revision := s.Txn(nil, []string{root + "a/x"})
		s.Txn(map[string][]byte{root + "a/y": thing("a/y", "", "")}, nil)
		if err := s.Compact(revision); err != nil {
			t.Fatal(err)
		}
	}
	bubble(t, prepare, func(w *world) {
		changes, _, err := w.drain(w.watch(WatchQuery{After: 2}))
		var gone *ExpiredError
		if !errors.As(err, &gone) || len(changes) > 0 {
			t.Errorf("got %v and %v", changes, err)
		}
	})
}

func TestWatchOfAFutureRevision(t *testing.T) {
	bubble(t, nil, func(w *world) {
		newest := w.put("a/x", "", "")
		next := w.watch(WatchQuery{After: newest + 1})
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.expect(next, "MODIFIED a/x l=2 rv=4")
		}()
		<-time.After(time.Second)
		w.put("a/x", "1", "")
		w.put("a/x", "2", "")
		<-done
		_, _, err := w.drain(w.watch(WatchQuery{After: newest + 1000}))
		var reverted *RevertedError
		if !errors.As(err, &reverted) {
			t.Errorf("a revision of another history gets %v", err)
		}
	})
}

func TestWatchUndecodableValues(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "1", "")
		watcher := w.watch(WatchQuery{After: start})
		w.write("a/x", []byte("not JSON"))
		w.write("a/bad", []byte("{"))
		w.write("stray", []byte("{}"))
		w.put("a/y", "1", "")
		w.put("a/x", "2", "")
		w.remove("a/bad")
		w.expect(watcher, "DELETED a/x l=1 rv=3", "ADDED a/y l=1 rv=6", "ADDED a/x l=2 rv=7")
		if stats := w.cache.Stats(); stats.Invalid != 1 || stats.Objects != 2 {
			t.Errorf("the cache counts %+v", stats)
		}
	})
}

func TestWatchKeepsRevisionsTogether(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		watcher := w.watch(WatchQuery{After: start})
		puts := map[string][]byte{}
		for i := range 3 * batchEvents {
			path := fmt.Sprintf("a/%04d", i)
			puts[root+path] = thing(path, "", "")
		}
		w.store.Txn(puts, nil)
		synctest.Wait()
		batch, err := watcher.Next(w.t.Context())
		if err != nil || len(batch.Changes) != 3*batchEvents {
			t.Errorf("a batch for one revision of %d changes has %d (%v)", 3*batchEvents, len(batch.Changes), err)
		}
	})
}

func TestWatchEndsWhenTheCacheStops(t *testing.T) {
	bubble(t, nil, func(w *world) {
		watcher := w.watch(WatchQuery{State: true})
		w.expect(watcher)
		failed := make(chan error, 1)
		go func() {
			_, err := watcher.Next(w.t.Context())
			failed <- err
		}()
		synctest.Wait()
		w.stop()
		if err := <-failed; !errors.Is(err, ErrStopped) {
			t.Errorf("the watcher ended with %v", err)
		}
		if _, err := w.cache.Watch(WatchQuery{}); !errors.Is(err, ErrStopped) {
			t.Errorf("a new watch gets %v", err)
		}
	})
}

func TestWatchBeforeTheCacheIsFilled(t *testing.T) {
	cache := New(Config{})
	var notReady *NotReadyError
	if _, err := cache.Watch(WatchQuery{State: true}); !errors.As(err, &notReady) || notReady.RetryAfter <= 0 {
		t.Errorf("a watch of an empty cache gets %v", err)
	}
	if _, err := cache.List(t.Context(), ListQuery{}); !errors.As(err, &notReady) {
		t.Errorf("a list gets %v", err)
	}
}

// An ended context ends one call, not the watch.
func TestWatchNextEndsWithItsContext(t *testing.T) {
	bubble(t, nil, func(w *world) {
		watcher := w.watch(WatchQuery{State: true})
		w.expect(watcher)
		ctx, cancel := context.WithCancel(w.t.Context())
		cancel()
		if _, err := watcher.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		w.put("a/x", "", "")
		w.expect(watcher, "ADDED a/x l= rv=2")
	})
}

func TestRefillAfterCompactionLosesNothingSilently(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "0", "")
		watcher := w.watch(WatchQuery{After: start})
		w.expect(watcher)
		w.stop()
		// The cache has lost events: it is filled again at a later revision, while watchers wait.
		w.store.Txn(map[string][]byte{root + "a/x": thing("a/x", "1", "")}, nil)
		revision := w.store.Txn(map[string][]byte{root + "a/x": thing("a/x", "2", "")}, nil)
		w.compact(revision)
		w.cache.mu.Lock()
		w.cache.stopped = false
		w.cache.mu.Unlock()
		w.cache.fanout, w.cache.reads = w.cache.newFanout(), history.NewRevisionReads(w.cache.Newest, ErrStopped) // each runs once
		w.start()
		_, _, err := w.drain(watcher)
		var gone *ExpiredError
		if !errors.As(err, &gone) || gone.Requested != start {
			t.Errorf("the watcher got %v, want ExpiredError", err)
		}
	})
}

// A client may have lost its connection in the middle of a revision that changed several keys. It resumes at that revision and gets all of
// it again; of a revision with a single change that it watches, it has all.
func TestWatchResumesInsideARevision(t *testing.T) {
	several := func(s *memory.Store, label string) etcdstore.Revision {
		return s.Txn(map[string][]byte{root + "a/x": thing("a/x", label, ""), root + "a/y": thing("a/y", label, ""), root + "b/x": thing("b/x", label, "")}, nil)
	}
	var old, filled etcdstore.Revision
	prepare := func(s *memory.Store) {
		old = several(s, "1")
		s.Txn(map[string][]byte{root + "a/z": thing("a/z", "1", "")}, nil)
		filled = several(s, "2")
	}
	bubble(t, prepare, func(w *world) {
		live := several(w.store, "3")
		synctest.Wait()
		from := func(revision etcdstore.Revision, namespace string) []seen {
			changes, _, err := w.drain(w.watch(WatchQuery{After: revision, Namespace: namespace}))
			if err != nil {
				w.t.Fatal(err)
			}
			return changes
		}
		for name, c := range map[string]struct {
			got  []seen
			want int
		}{
			"in the log":                    {from(live, "a"), 2},
			"the first one of the cache":    {from(filled, "a"), 4},
			"in history":                    {from(old, "a"), 2 + 1 + 2 + 2},
			"a single change, in the log":   {from(live, "b"), 0},
			"a single change, at the start": {from(filled, "b"), 1},
			"a single change, in history":   {from(old, "b"), 2},
			"between, nothing to replay":    {from(old+1, "a"), 4},
		} {
			if len(c.got) != c.want {
				w.t.Errorf("%s: %d changes, want %d: %v", name, len(c.got), c.want, c.got)
			}
		}
	})
}
