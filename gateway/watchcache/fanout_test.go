package watchcache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// shelved is a store whose watches, except for the cache's own, deliver nothing before the gate opens, and then one revision at a
// time.
type shelved struct {
	*memory.Store
	gate    chan struct{}
	watches atomic.Int32
}

type shelvedWatcher struct {
	singleWatcher
	gate chan struct{}
}

func (s *shelved) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := s.Store.Watch(ctx, prefix, o)
	if s.watches.Add(1) <= ownWatches {
		return w
	}
	return &shelvedWatcher{singleWatcher{Watcher: w}, s.gate}
}

func (w *shelvedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	select {
	case <-w.gate:
		return w.singleWatcher.Next(ctx)
	case <-ctx.Done():
		return etcdstore.Batch{}, ctx.Err()
	}
}

// shelvedBubble has a store with revisions 2 to 21. Only the last one is in the log.
func shelvedBubble(t *testing.T, test func(*world, *shelved)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &shelved{Store: storeAt(20), gate: make(chan struct{})}
		w := &world{t: t, store: store.Store}
		w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		<-w.cache.Filled()
		test(w, store)
	})
}

// count drains a watcher and counts the changes.
func (w *world) count(watcher *Watcher) int {
	changes, _, err := w.drain(watcher)
	if err != nil {
		w.t.Error(err)
	}
	return len(changes)
}

// Etcd's history is read once for any number of clients with old revisions.
func TestHistoryIsReadOnceForAll(t *testing.T) {
	shelvedBubble(t, func(w *world, store *shelved) {
		var reading sync.WaitGroup
		for i := range 100 {
			after := etcdstore.Revision(2 + i%10)
			watcher := w.watch(WatchQuery{After: after})
			reading.Go(func() {
				if n := w.count(watcher); n != int(21-after) {
					w.t.Errorf("%d: the watcher after this revision got %d changes", after, n)
				}
			})
			synctest.Wait() // the first one begins at 2
		}
		if n := w.cache.Stats().HistoryReaders; n != 100 {
			w.t.Errorf("the statistics count %d watchers that read history", n)
		}
		close(store.gate)
		reading.Wait()
		if n := store.watches.Load() - ownWatches; n != 1 {
			w.t.Errorf("100 watchers cost %d watches of history", n)
		}
		if readers, bytes := w.cache.fanout.Stats(); readers > 0 || bytes > 0 {
			w.t.Errorf("%d readers are left, with %d bytes", readers, bytes)
		}
	})
}

// A reader that does not read becomes a laggard after a short time, and gets the rest later.
func TestSlowReaderOfHistory(t *testing.T) {
	shelvedBubble(t, func(w *world, store *shelved) {
		slow, fast := w.watch(WatchQuery{After: 2}), w.watch(WatchQuery{After: 3})
		close(store.gate)
		if _, err := slow.Next(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		began := time.Now()
		for n := 0; n < 18; {
			batch, err := fast.Next(w.t.Context())
			if err != nil {
				w.t.Fatal(err)
			}
			n += len(batch.Changes)
		}
		if took := time.Since(began); took > 2*time.Second {
			w.t.Errorf("beside a slow reader history took %v", took)
		}
		if n := w.count(slow); n != 18 {
			w.t.Errorf("the slow reader got %d more changes, want 18", n)
		}
	})
}

// The bytes that readers hold are bounded: history is read further when they are written.
func TestHistoryIsReadNoFasterThanItIsWritten(t *testing.T) {
	shelvedBubble(t, func(w *world, store *shelved) {
		close(store.gate)
		watcher := w.watch(WatchQuery{After: 2})
		if _, err := watcher.Next(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		<-time.After(time.Minute) // the reader holds a chunk, another one is in the inbox
		_, held := w.cache.fanout.Stats()
		if most := 3*eventMemory + 3*len(thing("a/x", "19", "")); held > 2*most {
			w.t.Errorf("%d bytes are held for a reader that reads nothing", held)
		}
		if n := w.count(watcher); n != 18 {
			w.t.Errorf("%d changes follow, want 18", n)
		}
	})
}

// The watcher does not decide which part of the resumed revision the client has before history has delivered that revision.
func TestResumingInHistory(t *testing.T) {
	shelvedBubble(t, func(w *world, store *shelved) {
		watcher := w.watch(WatchQuery{After: 2})
		w.expect(watcher)
		if !watcher.Resuming() {
			w.t.Error("the watcher has decided before it got the revision")
		}
		close(store.gate)
		if n := w.count(watcher); n != 19 || watcher.Resuming() {
			w.t.Errorf("%d changes, want 19; undecided: %v", n, watcher.Resuming())
		}
	})
}

// A watcher that waits for history ends when the cache stops, and when etcd is unavailable for too long.
func TestWatcherEndsWithoutHistory(t *testing.T) {
	for name, end := range map[string]func(*world){
		"stopped":        func(w *world) { w.stop() },
		"etcd went away": func(w *world) { w.cache.expireLiveness() },
	} {
		t.Run(name, func(t *testing.T) {
			shelvedBubble(t, func(w *world, _ *shelved) {
				watcher, failed := w.watch(WatchQuery{After: 2}), make(chan error)
				go func() {
					_, err := watcher.Next(w.t.Context())
					failed <- err
				}()
				synctest.Wait()
				end(w)
				if err := <-failed; !errors.Is(err, ErrStopped) {
					w.t.Errorf("a reader of history got %v", err)
				}
			})
		})
	}
}
