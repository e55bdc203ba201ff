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

// A cache serves before it has looked back. Clients that resume meanwhile wait for that and read the log, so that they cost etcd no watch; a client
// from before it reads etcd's history.
func TestServesBeforeLookBack(t *testing.T) {
	for name, test := range map[string]struct{ lookBack, watches int }{"all events": {lookBack, 0}, "the newest event": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			gatedBubbleLookingBack(t, etcdstore.Revision(test.lookBack), func(w *world, store *gated) {
				w.expectList(ListQuery{}, "a/x=3")
				early := []*Watcher{w.watch(WatchQuery{After: 2}), w.watch(WatchQuery{After: 2})}
				received := make(chan int)
				for _, watcher := range early {
					go func() {
						changes := 0
						for changes < 2 {
							batch, err := watcher.Next(w.t.Context())
							if err != nil {
								w.t.Error(err)
								break
							}
							changes += len(batch.Changes)
						}
						received <- changes
					}()
				}
				synctest.Wait()
				if n := store.watches.Load(); n != ownWatches {
					w.t.Errorf("before it has looked back, the cache has %d watches", n)
				}
				close(store.gate)
				for range early {
					if n := <-received; n != 2 {
						w.t.Errorf("a client that resumed at once got %d changes", n)
					}
				}
				if n := store.watches.Load() - ownWatches; int(n) != test.watches {
					w.t.Errorf("clients that resumed cost %d watches in etcd, want %d", n, test.watches)
				}
				w.put("a/x", "4", "")
				w.expect(early[0], "MODIFIED a/x l=4 rv=5")
			})
		})
	}
}
