package watchcache

import (
	"context"
	"log/slog"
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
		for _, want := range []etcdstore.WatchOptions{{After: 1, Previous: true}, {After: 21}} {
			if got := <-store.watches; got != want {
				t.Errorf("a watch with %+v, want %+v", got, want)
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

// The cache of a quiet resource requests progress again until etcd answers.
func TestFillRequestsProgressAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, store: memory.New()}
		w.store.Txn(map[string][]byte{"/registry/others/x": thing("a/x", "1", "")}, nil)
		w.cache = New(Config{Store: catchingUp{w.store}, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		before := time.Now()
		w.start()
		<-w.cache.Filled()
		if took := time.Since(before); took >= lookBackTimeout {
			t.Errorf("an empty resource was served after %v", took)
		}
	})
}
