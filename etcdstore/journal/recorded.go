package journal

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
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

// RangeOf returns what is recorded of the keys with a prefix in the present history of the etcd; false: nothing is, or it is not known yet which history
// the etcd has.
func (r *Recorder) RangeOf(prefix string) (Range, bool) {
	if !r.isCurrent(prefix) {
		return Range{}, false
	}
	return r.journal.rangeOf(r.config.Store.History(), prefix)
}

// At returns the revision that the keys with a prefix had at a time, and when the last event before it arrived; false: that is not recorded.
func (r *Recorder) At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	if !r.isCurrent(prefix) {
		return 0, time.Time{}, false, nil
	}
	next := etcdstore.Revision(0) // with which the later range begins
	for _, known := range slices.Backward(r.journal.covering(r.config.Store.History(), prefix)) {
		if known.Ended && known.Through != next { // what followed is not recorded
			if last, err := r.journal.Newest(known); err != nil || when.After(last) {
				return 0, time.Time{}, false, err
			}
		}
		revision, arrived, ok, err = r.journal.At(known, when)
		if ok || err != nil {
			return revision, arrived, err == nil && known.Has(revision), err
		}
		next = known.Oldest
	}
	return 0, time.Time{}, false, nil
}

// Oldest returns the revision from which the keys with a prefix are recorded, and the time of that; false: they are not recorded.
func (r *Recorder) Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	if !r.isCurrent(prefix) {
		return 0, time.Time{}, false, nil
	}
	all := r.journal.covering(r.config.Store.History(), prefix)
	if len(all) == 0 {
		return 0, time.Time{}, false, nil
	}
	at, err = r.journal.Began(all[0])
	return all[0].Oldest, at, err == nil, err
}

// Last finds the last events of the keys with a prefix. See Journal.Last.
func (r *Recorder) Last(ctx context.Context, prefix string, o LastOptions) (etcdstore.Revision, error) {
	if !r.isCurrent(prefix) {
		return 0, ErrUnknown
	}
	for _, known := range slices.Backward(r.journal.covering(r.config.Store.History(), prefix)) {
		part := o
		part.After, part.Through = max(o.After, known.Oldest), min(o.Through, known.Through)
		if part.After >= part.Through {
			continue
		}
		after, found, err := r.journal.Last(ctx, known, prefix, part)
		if err != nil || found >= o.Count {
			return after, err
		}
		o.Count -= found
	}
	return o.After, nil
}

// awaitTimeout is how long Await waits for the journal, which may be behind etcd.
const awaitTimeout = 2 * time.Second

// Await waits until the keys with a prefix are recorded through a revision, but no longer than two seconds. The error is that of ctx.
func (r *Recorder) Await(ctx context.Context, prefix string, revision etcdstore.Revision) error {
	if !r.opened.Load() || !r.Records(prefix) {
		return ctx.Err()
	}
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

// Arrival is when an event arrived.
type Arrival struct {
	Revision etcdstore.Revision
	Time     time.Time // zero: unknown
}

// skipped is how many events of other keys Arrivals passes over at once.
const skipped = 1024

// Arrivals yields the events of the keys with a prefix, or of the key that equals it, from a revision through another one, without reading their states. An
// Arrival without a revision is no event: it comes between many events of other keys, so that the consumer can pause. The error is a
// *etcdstore.CompactedError if the journal does not have all of these revisions.
func (r *Recorder) Arrivals(ctx context.Context, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[Arrival, error] {
	return func(yield func(Arrival, error) bool) {
		known, ok := r.RangeOf(prefix)
		if end, has := known.End(from - 1); !ok || !has || end < through || from <= known.Oldest {
			yield(Arrival{}, &etcdstore.CompactedError{Requested: from})
			return
		}
		for _, part := range r.journal.covering(r.config.Store.History(), prefix) {
			for arrival, err := range r.journal.Arrivals(ctx, part, prefix, exact, from, min(through, part.Through)) {
				if !yield(arrival, err) || err != nil {
					return
				}
			}
		}
		if again, ok := r.RangeOf(prefix); !ok || from <= again.Oldest { // its oldest events were removed meanwhile
			yield(Arrival{}, &etcdstore.CompactedError{Requested: from})
		}
	}
}

// Arrivals yields those of one range. See Recorder.Arrivals.
func (j *Journal) Arrivals(ctx context.Context, known Range, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[Arrival, error] {
	return func(yield func(Arrival, error) bool) {
		if from = max(from, known.Oldest+1); from > through {
			return
		}
		events := j.index(known.Number, from, through)
		if exact {
			reader, err := j.newReader(known.Number)
			if err != nil {
				yield(Arrival{}, err)
				return
			}
			defer reader.close()
			events = j.keyEvents(reader, prefix, from, through)
		}
		others := 0
		for e, err := range events {
			err = errors.Join(err, ctx.Err())
			arrival := Arrival{e.revision, e.arrived}
			if err == nil && !strings.HasPrefix(e.key, prefix) {
				if others++; others%skipped > 0 {
					continue
				}
				arrival = Arrival{}
			}
			if !yield(arrival, err) || err != nil {
				return
			}
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
