package conversion

import (
	"context"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
)

// firstPause and lastPause are the times between two attempts to convert an event.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// progressPeriod is the time between two empty batches that the watcher returns while the webhook converts a batch. Without them the watch cache would
// restart the watch, because etcd seems silent.
const progressPeriod = 5 * time.Second

// watcher converts the events of a watch, a batch at a time, while its reader may wait for something else.
type watcher struct {
	etcdstore.Watcher

	store   *Store
	results chan result
	closed  chan struct{}
	close   sync.Once
	through etcdstore.Revision // delivered
	err     error              // of Next, from then on
}

type result struct {
	batch      etcdstore.Batch
	err        error
	converting bool // the batch follows
}

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{Watcher: s.Store.Watch(ctx, prefix, o), store: s, results: make(chan result, 1), closed: make(chan struct{}), through: o.After}
	go w.run(ctx)
	return w
}

// run converts batches until the watch ends.
func (w *watcher) run(ctx context.Context) {
	for {
		batch, err := w.Watcher.Next(ctx)
		if err == nil && len(batch.Events) > 0 {
			w.convert(&batch)
		}
		select {
		case w.results <- result{batch: batch, err: err}:
		case <-w.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// convert converts the values of a batch. The reader gets to know every progressPeriod that it goes on.
func (w *watcher) convert(batch *etcdstore.Batch) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		batch.Events = w.convertEvents(batch.Events)
	}()
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			select {
			case w.results <- result{converting: true}:
			default:
			}
		}
	}
}

// convertEvents returns events with converted values. While a value cannot be converted it tries again, for as long as the patience of the store: a webhook
// that is started again ends no watch.
func (w *watcher) convertEvents(shared []etcdstore.Event) []etcdstore.Event {
	events := slices.Clone(shared)
	var stored []etcdstore.KV // before the conversion
	var pending []*etcdstore.KV
	for i := range events {
		for _, kv := range []**etcdstore.KV{&events[i].KV, &events[i].Prev} {
			if *kv != nil {
				own := **kv
				stored, pending, *kv = append(stored, own), append(pending, &own), &own
			}
		}
	}
	defer w.store.setWaiting(nil)
	end := time.Now().Add(w.store.patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		w.store.convert(slices.Clone(pending), true)
		left := 0
		for i, kv := range pending {
			if kv.Unreadable != nil && kv.Unreadable.Err != nil {
				pending[left], stored[left] = kv, stored[i]
				left++
			}
		}
		if pending, stored = pending[:left], stored[:left]; left == 0 || time.Now().After(end) {
			return events
		}
		w.store.setWaiting(pending[0].Unreadable)
		select {
		case <-time.After(pause):
		case <-w.store.recovered:
		case <-w.closed:
			return events
		}
		for i, kv := range pending {
			*kv = stored[i]
		}
	}
}

// Next implements etcdstore.Watcher.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.err != nil {
		return etcdstore.Batch{}, w.err
	}
	select {
	case r := <-w.results:
		if r.converting {
			return etcdstore.Batch{Through: w.through}, nil
		}
		if w.err = r.err; r.err == nil {
			w.through = r.batch.Through
		}
		return r.batch, r.err
	case <-w.closed:
		w.err = etcdstore.ErrClosed
		return etcdstore.Batch{}, w.err
	case <-ctx.Done():
		return etcdstore.Batch{}, ctx.Err()
	}
}

// Close implements etcdstore.Watcher. A call of the webhook ends by itself.
func (w *watcher) Close() error {
	w.close.Do(func() { close(w.closed) })
	return w.Watcher.Close()
}
