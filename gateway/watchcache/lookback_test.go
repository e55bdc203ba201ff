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

// catchingUp is a store whose watches do not tell their progress when they are asked for the first time, as those of etcd.
type catchingUp struct{ *memory.Store }

func (c catchingUp) Watch(ctx context.Context, prefix string, after etcdstore.Revision) etcdstore.Watcher {
	return &deafWatcher{Watcher: c.Store.Watch(ctx, prefix, after)}
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

// A cache of a quiet resource is served once etcd has told that nothing is missing: it is asked again until it does.
func TestFillAsksForProgressAgain(t *testing.T) {
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
