package watchcache

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// ownWatches is how many watches a cache opens: one to look back, and one for later events.
const ownWatches = 2

// lookBackTimeout is how long a look back waits for events.
const lookBackTimeout = time.Second

// gated is a store whose first watches, the cache's own, can be blocked and broken.
type gated struct {
	*memory.Store
	gate    chan struct{} // closed: the first watches continue
	broken  chan error    // the error of the first watches
	single  bool          // the other watches deliver one revision at a time
	watches atomic.Int32
}

type singleWatcher struct {
	etcdstore.Watcher
	rest []etcdstore.Event
}

func (w *singleWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if len(w.rest) == 0 {
		batch, err := w.Watcher.Next(ctx)
		if err != nil || len(batch.Events) == 0 {
			return batch, err
		}
		w.rest = batch.Events
	}
	first := w.rest[:1]
	w.rest = w.rest[1:]
	return etcdstore.Batch{Events: first, Through: first[0].Revision}, nil
}

type gatedWatcher struct {
	etcdstore.Watcher
	store *gated
}

func (g *gated) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := g.Store.Watch(ctx, prefix, o)
	switch first := g.watches.Add(1) <= ownWatches; {
	case first:
		return &gatedWatcher{w, g}
	case g.single:
		return &singleWatcher{Watcher: w}
	}
	return w
}

func (w *gatedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	select {
	case <-w.store.gate:
		return w.Watcher.Next(ctx)
	case err := <-w.store.broken:
		return etcdstore.Batch{}, err
	case <-ctx.Done():
		return etcdstore.Batch{}, ctx.Err()
	}
}

func gatedBubble(t *testing.T, test func(*world, *gated)) {
	t.Helper()
	gatedBubbleLookingBack(t, 0, test)
}

func gatedBubbleLookingBack(t *testing.T, lookBack etcdstore.Revision, test func(*world, *gated)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &gated{Store: memory.New(), gate: make(chan struct{}), broken: make(chan error)}
		w := &world{t: t, store: store.Store, lookBack: lookBack}
		for _, label := range []string{"1", "2", "3"} {
			store.Txn(map[string][]byte{root + "a/x": thing("a/x", label, "")}, nil)
		}
		w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		if lookBack == 0 {
			<-time.After(lookBackTimeout) // the gate is closed
		}
		synctest.Wait()
		test(w, store)
	})
}

// History can be ahead of the log: the log does not deliver its events again.
func TestWatchHistoryAheadOfTheLog(t *testing.T) {
	gatedBubble(t, func(w *world, store *gated) {
		watcher := w.watch(WatchQuery{After: 2})
		w.put("a/x", "4", "") // the cache does not get it yet
		batches := 0
		for batches < 3 {
			batch, err := watcher.Next(w.t.Context())
			if err != nil {
				w.t.Fatal(err)
			}
			if batches += len(batch.Changes); batch.Through >= 5 {
				break
			}
		}
		w.expect(watcher) // no event, because it waits
		close(store.gate)
		w.put("a/x", "5", "")
		w.expect(watcher, "MODIFIED a/x l=5 rv=6")
	})
}

// Events that arrive while history is read are in the log when the history meets it.
func TestHistoryMeetsTheLog(t *testing.T) {
	gatedBubble(t, func(w *world, store *gated) {
		close(store.gate)
		store.single = true
		watcher := w.watch(WatchQuery{After: 2})
		w.put("a/x", "4", "")
		w.put("a/x", "5", "")
		w.expect(watcher, "MODIFIED a/x l=2 rv=3", "MODIFIED a/x l=3 rv=4", "MODIFIED a/x l=4 rv=5", "MODIFIED a/x l=5 rv=6")
	})
}

// When the cache's own watch has lost events, the cache is filled again, and waiting watchers end at once.
func TestCacheIsFilledAnewAfterCompaction(t *testing.T) {
	gatedBubble(t, func(w *world, store *gated) {
		sleeping := w.watch(WatchQuery{State: true})
		w.expect(sleeping, "ADDED a/x l=3 rv=4")
		failed := make(chan error)
		go func() {
			_, err := sleeping.Next(w.t.Context())
			failed <- err
		}()
		w.put("a/x", "4", "")
		newest := w.put("a/x", "5", "")
		w.compact(newest)
		store.broken <- &etcdstore.CompactedError{Requested: 4, Compacted: newest}
		var gone *ExpiredError
		if err := <-failed; !errors.As(err, &gone) || gone.Requested != 4 {
			w.t.Errorf("a sleeping watcher that lost events got %v", err)
		}
		if list := w.expectList(ListQuery{AtLeast: newest}, "a/x=5"); list.Revision != newest {
			w.t.Errorf("the cache is at %d", list.Revision)
		}
		w.expect(w.watch(WatchQuery{State: true}), "ADDED a/x l=5 rv=6")
	})
}

// When nothing was compacted, watchers survive a refill.
func TestRefillWithHistoryLosesNothing(t *testing.T) {
	gatedBubble(t, func(w *world, store *gated) {
		watcher := w.watch(WatchQuery{After: 4})
		w.expect(watcher)
		w.put("a/x", "4", "")
		store.broken <- &etcdstore.CompactedError{Requested: 4}
		w.put("a/x", "5", "")
		w.expect(watcher, "MODIFIED a/x l=4 rv=5", "MODIFIED a/x l=5 rv=6")
	})
}
