package recorder

import (
	"cmp"
	"context"
	"errors"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// Recorded is an etcd whose watches are answered from a journal alone, with the time at which each event arrived. All else is that of the etcd. A
// state whose value is not kept has none in its events.
type Recorded struct {
	etcdstore.Store
	recorder *Recorder
}

// NewRecorded returns the store of what a recorder has recorded.
func NewRecorded(etcd etcdstore.Store, r *Recorder) *Recorded { return &Recorded{etcd, r} }

// Watch implements etcdstore.Store. The watcher returns a *CompactedError if the journal does not have the next event.
func (s *Recorded) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	ctx, cancel := context.WithCancel(ctx)
	return &replay{store: s, ctx: ctx, cancel: cancel, prefix: prefix, options: o}
}

// replay is a watch of the journal.
type replay struct {
	store   *Recorded
	ctx     context.Context //nolint:containedctx // that of Watch
	cancel  context.CancelFunc
	prefix  string
	options etcdstore.WatchOptions // After is that of the last step; only Next uses it
}

// Next implements etcdstore.Watcher.
func (w *replay) Next(ctx context.Context) (etcdstore.Batch, error) {
	for {
		if err := cmp.Or(ctx.Err(), w.ctx.Err()); err != nil {
			return etcdstore.Batch{}, err
		}
		step, err := w.store.recorder.journal.Events(ctx, w.store.History(), w.prefix, journal.EventOptions{
			After: w.options.After, Exact: w.options.Exact, Previous: w.options.Previous, Through: w.options.Through, Bytes: replayBytes, Recorded: true,
		})
		if errors.Is(err, journal.ErrUnknown) {
			err = &etcdstore.CompactedError{Requested: w.options.After}
		}
		if err != nil || step.Through > w.options.After {
			w.options.After = max(w.options.After, step.Through)
			return step, err
		}
		if err := pause(ctx); err != nil {
			return etcdstore.Batch{}, err
		}
	}
}

// RequestProgress implements etcdstore.Watcher: each step has the revision through which the journal is complete.
func (*replay) RequestProgress(context.Context) error { return nil }

// Close implements etcdstore.Watcher.
func (w *replay) Close() error {
	w.cancel()
	return nil
}
