package recorder

import (
	"context"
	"iter"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// isCurrent reports whether the range of a prefix is known to have the present history of the etcd.
func (r *Recorder) isCurrent(prefix string) bool {
	if !r.opened.Load() {
		return false
	}
	known := len(r.parts) > 0
	for _, p := range r.parts {
		if strings.HasPrefix(prefix, p.prefix) {
			return p.current.Load()
		}
		known = known && p.current.Load()
	}
	return known // the keys are no longer recorded
}

// view returns what is recorded of the keys with a prefix in the present history of the etcd; false: it is not known yet which history the etcd has.
func (r *Recorder) view(prefix string) (journal.View, bool) {
	if !r.isCurrent(prefix) {
		return journal.View{}, false
	}
	return r.journal.View(r.config.Store.History(), prefix), true
}

// RangeOf returns what is recorded of the keys with a prefix in the present history of the etcd; false: nothing is, or it is not known yet which history
// the etcd has.
func (r *Recorder) RangeOf(prefix string) (journal.Range, bool) {
	v, ok := r.view(prefix)
	if !ok {
		return journal.Range{}, false
	}
	return v.Range()
}

// At returns the revision that the keys with a prefix had at a time, and when the last event before it arrived; false: that is not recorded.
func (r *Recorder) At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	v, ok := r.view(prefix)
	if !ok {
		return 0, time.Time{}, false, nil
	}
	return v.At(when)
}

// Oldest returns the revision from which the keys with a prefix are recorded, and the time of that; false: they are not recorded.
func (r *Recorder) Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	v, ok := r.view(prefix)
	if !ok {
		return 0, time.Time{}, false, nil
	}
	return v.Oldest()
}

// Last finds the last events of the keys with a prefix. See journal.Journal.Last.
func (r *Recorder) Last(ctx context.Context, prefix string, o journal.LastOptions) (etcdstore.Revision, error) {
	v, ok := r.view(prefix)
	if !ok {
		return 0, journal.ErrUnknown
	}
	return v.Last(ctx, o)
}

// Arrivals yields when the events of the keys with a prefix arrived. See journal.View.Arrivals.
func (r *Recorder) Arrivals(ctx context.Context, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[journal.Arrival, error] {
	return func(yield func(journal.Arrival, error) bool) {
		v, ok := r.view(prefix)
		if !ok {
			yield(journal.Arrival{}, &etcdstore.CompactedError{Requested: from})
			return
		}
		for arrival, err := range v.Arrivals(ctx, exact, from, through) {
			if !yield(arrival, err) || err != nil {
				return
			}
		}
		if !r.isCurrent(prefix) { // it may have become another history meanwhile
			yield(journal.Arrival{}, &etcdstore.CompactedError{Requested: from})
		}
	}
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
