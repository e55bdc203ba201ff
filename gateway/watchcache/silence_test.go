package watchcache

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// mute is a store whose watches deliver nothing.
type mute struct {
	*memory.Store
	watches int // number of opened watches; read while no goroutine runs
}

type muteWatcher struct{ ctx context.Context }

func (m *mute) Watch(ctx context.Context, _ string, _ etcdstore.WatchOptions) etcdstore.Watcher {
	m.watches++
	return &muteWatcher{ctx}
}

func (w *muteWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	select {
	case <-ctx.Done():
		return etcdstore.Batch{}, ctx.Err()
	case <-w.ctx.Done():
		return etcdstore.Batch{}, w.ctx.Err()
	}
}

func (w *muteWatcher) RequestProgress(context.Context) error { return nil }
func (w *muteWatcher) Close() error                          { return nil }

func TestSilenceInAQuietStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &mute{Store: memory.New()}
		w := &world{t: t, store: store.Store}
		w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		<-time.After(10 * silenceTimeout)
		synctest.Wait()
		if store.watches != 1 {
			t.Errorf("a quiet store was watched %d times", store.watches)
		}
		w.put("a/x", "", "")
		<-time.After(silenceTimeout + idleProgressPeriod + time.Second)
		synctest.Wait()
		if store.watches < 2 {
			t.Error("a watch that missed a write was not opened again")
		}
	})
}
