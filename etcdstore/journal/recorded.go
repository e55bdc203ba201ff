package journal

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"revtail/etcdstore"
)

// Recorded is an etcd whose watches are answered from a journal alone, with the time at which each event arrived. All else is that of the etcd. A
// state whose value is not kept has none in its events.
type Recorded struct {
	etcdstore.Store
	recorder *Recorder
}

// NewRecorded returns the store of what a recorder has recorded.
func NewRecorded(etcd etcdstore.Store, r *Recorder) *Recorded { return &Recorded{etcd, r} }

// RangeOf returns what is recorded of the keys with a prefix in the present history of the etcd; false: nothing is.
func (r *Recorder) RangeOf(prefix string) (Range, bool) {
	return r.journal.rangeOf(r.config.Store.History(), prefix)
}

// At returns the revision that the keys with a prefix had at a time, and when the last event before it arrived; false: that is not recorded.
func (r *Recorder) At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	known, ok := r.RangeOf(prefix)
	if !ok || !r.isCurrent(prefix) {
		return 0, time.Time{}, false, nil
	}
	revision, arrived, ok, err = r.journal.At(known, when)
	if ok && err == nil && !known.Has(revision) {
		ok = false
	}
	return revision, arrived, ok, err
}

// Oldest returns the revision from which the keys with a prefix are recorded, and the time of that; false: they are not recorded.
func (r *Recorder) Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	known, ok := r.RangeOf(prefix)
	if !ok {
		return 0, time.Time{}, false, nil
	}
	at, err = r.journal.Began(known)
	return known.Oldest, at, err == nil, err
}

// Last finds the last events of the keys with a prefix. See Journal.Last.
func (r *Recorder) Last(ctx context.Context, prefix string, o LastOptions) (etcdstore.Revision, error) {
	known, ok := r.RangeOf(prefix)
	if !ok {
		return 0, ErrUnknown
	}
	return r.journal.Last(ctx, known, prefix, o)
}

// awaitTimeout is how long Await waits for the journal, which may be behind etcd.
const awaitTimeout = 2 * time.Second

// Await waits until the keys with a prefix are recorded through a revision, but no longer than two seconds. The error is that of ctx.
func (r *Recorder) Await(ctx context.Context, prefix string, revision etcdstore.Revision) error {
	bound, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	for {
		if known, ok := r.RangeOf(prefix); ok && known.Through >= revision {
			return nil
		}
		r.requestProgress(bound, prefix)
		if pause(bound) != nil {
			return ctx.Err()
		}
	}
}

// requestProgress asks etcd how far the watch of a prefix is.
func (r *Recorder) requestProgress(ctx context.Context, prefix string) {
	for _, p := range r.parts {
		if w := p.watcher.Load(); w != nil && strings.HasPrefix(prefix, p.prefix) {
			_ = (*w).RequestProgress(ctx) // a watch that has failed is opened again
		}
	}
}

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
		step, err := w.store.recorder.journal.Events(ctx, w.store.History(), w.prefix, EventOptions{
			After: w.options.After, Exact: w.options.Exact, Previous: w.options.Previous, Through: w.options.Through, Bytes: replayBytes, Recorded: true,
		})
		if errors.Is(err, ErrUnknown) {
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
