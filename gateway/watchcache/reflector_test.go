package watchcache

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// catchingUp is a store whose watches do not answer the first progress request, as etcd's.
type catchingUp struct{ *memory.Store }

func (c catchingUp) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &deafWatcher{Watcher: c.Store.Watch(ctx, prefix, o)}
}

type deafWatcher struct {
	etcdstore.Watcher
	asked atomic.Bool
}

func (w *deafWatcher) RequestProgress(ctx context.Context) error {
	if !w.asked.Swap(true) {
		return nil
	}
	return w.Watcher.RequestProgress(ctx)
}

// noting is a store that records the options of its watches.
type noting struct {
	*memory.Store
	watches chan etcdstore.WatchOptions
}

func (n *noting) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	n.watches <- o
	return n.Store.Watch(ctx, prefix, o)
}

// Only the watch for events before the fill requests previous values, because the mirror has the others.
func TestWatchRequestsNoPreviousValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noting{storeAt(20), make(chan etcdstore.WatchOptions, 2)}
		w := &world{t: t, store: store.Store, lookBack: lookBack}
		w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		options := []etcdstore.WatchOptions{<-store.watches, <-store.watches} // of two goroutines
		for _, want := range []etcdstore.WatchOptions{{After: 1, Previous: true}, {After: 21}} {
			if !slices.Contains(options, want) {
				t.Errorf("the watches have %+v, want one with %+v", options, want)
			}
		}
		watcher := w.watch(WatchQuery{After: 21})
		w.put("a/x", "new", "")
		batch, err := watcher.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if previous := batch.Changes[0].Previous; previous == nil || previous.Revision != 21 {
			t.Errorf("the state before is %+v", previous)
		}
	})
}

// The look back of a quiet resource requests progress again until etcd answers.
func TestLookBackRequestsProgressAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, store: memory.New(), lookBack: lookBack}
		w.store.Txn(map[string][]byte{"/registry/others/x": thing("a/x", "1", "")}, nil)
		w.cache = New(Config{Store: catchingUp{w.store}, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		<-time.After(lookBackTimeout / 2)
		synctest.Wait()
		w.cache.mu.Lock()
		defer w.cache.mu.Unlock()
		if w.cache.log.floor != 0 {
			t.Errorf("the log of an empty resource begins at revision %d", w.cache.log.floor)
		}
	})
}

// A cache serves before it has looked back: a client that resumes meanwhile reads etcd's history, and one that resumes later the log.
func TestServesBeforeLookBack(t *testing.T) {
	gatedBubbleLookingBack(t, lookBack, func(w *world, store *gated) {
		w.expectList(ListQuery{}, "a/x=3")
		early := w.watch(WatchQuery{After: 2})
		batch, err := early.Next(w.t.Context())
		if err != nil || len(batch.Changes) != 2 {
			w.t.Fatalf("a client that resumes at once gets %d changes, %v", len(batch.Changes), err)
		}
		close(store.gate)
		w.put("a/x", "4", "")
		synctest.Wait()
		w.expect(early, "MODIFIED a/x l=4 rv=5")
		watches := store.watches.Load()
		w.expect(w.watch(WatchQuery{After: 2}), "MODIFIED a/x l=2 rv=3", "MODIFIED a/x l=3 rv=4", "MODIFIED a/x l=4 rv=5")
		if n := store.watches.Load() - watches; n != 0 {
			w.t.Errorf("a client that resumed cost %d watches in etcd", n)
		}
	})
}
