package encryption

import (
	"context"
	"slices"

	"revtail/etcdstore"
)

// watcher decrypts the events of a watch of another store.
type watcher struct {
	etcdstore.Watcher

	store *Store

	// Only Next uses the fields below.
	pending *etcdstore.Batch // that Next could not decrypt before its context ended
	err     error            // of all further calls of Next
}

// Next implements etcdstore.Watcher. If a KMS plugin does not answer, the watch ends: a new one gets the events again.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.err != nil {
		return etcdstore.Batch{}, w.err
	}
	batch := w.pending
	if batch == nil {
		received, err := w.Watcher.Next(ctx)
		if err != nil {
			return etcdstore.Batch{}, err
		}
		batch = &received
	}
	events, err := w.decrypt(ctx, batch.Events)
	w.pending = nil
	switch {
	case err == nil:
		batch.Events = events
		return *batch, nil
	case ctx.Err() != nil:
		w.pending = batch
	default:
		w.err = err
	}
	return etcdstore.Batch{}, err
}

// decrypt returns new events, because the states of those of the other store are shared.
func (w *watcher) decrypt(ctx context.Context, shared []etcdstore.Event) ([]etcdstore.Event, error) {
	events := slices.Clone(shared)
	for i := range events {
		for _, state := range []**etcdstore.KV{&events[i].KV, &events[i].Prev} {
			if *state == nil {
				continue
			}
			plain, err := w.store.decrypt(ctx, **state)
			if err != nil {
				return nil, err
			}
			*state = &plain
		}
	}
	return events, nil
}
