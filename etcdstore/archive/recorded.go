package archive

import (
	"context"
	"iter"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// RangeOf returns what is recorded of the keys with a prefix; false: nothing is.
func (s *Store) RangeOf(prefix string) (journal.Range, bool) {
	for _, r := range s.ranges {
		if r.Records(prefix) {
			return r, true
		}
	}
	return journal.Range{}, false
}

// At returns the revision that the keys with a prefix had at a time, and when the last event before it arrived; false: that is not recorded.
func (s *Store) At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	known, ok := s.RangeOf(prefix)
	if !ok {
		return 0, time.Time{}, false, nil
	}
	revision, arrived, ok, err = s.journal.At(known, when)
	return revision, arrived, ok && err == nil && known.Has(revision), err
}

// Oldest returns the revision from which the keys with a prefix are recorded, and the time of that; false: they are not recorded.
func (s *Store) Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	known, ok := s.RangeOf(prefix)
	if !ok {
		return 0, time.Time{}, false, nil
	}
	at, err = s.journal.Began(known)
	return known.Oldest, at, err == nil, err
}

// Last finds the last events of the keys with a prefix. See journal.Journal.Last.
func (s *Store) Last(ctx context.Context, prefix string, o journal.LastOptions) (etcdstore.Revision, error) {
	known, ok := s.RangeOf(prefix)
	if !ok {
		return 0, journal.ErrUnknown
	}
	after, _, err := s.journal.Last(ctx, known, prefix, o)
	return after, err
}

// Records reports whether the keys with a prefix are recorded.
func (s *Store) Records(prefix string) bool {
	_, ok := s.RangeOf(prefix)
	return ok
}

// Arrivals yields when the events of the keys with a prefix arrived. See journal.View.Arrivals.
func (s *Store) Arrivals(ctx context.Context, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[journal.Arrival, error] {
	known, ok := s.RangeOf(prefix)
	if end, has := known.End(from - 1); !ok || !has || end < through {
		return func(yield func(journal.Arrival, error) bool) {
			yield(journal.Arrival{}, &etcdstore.CompactedError{Requested: from})
		}
	}
	return s.journal.Arrivals(ctx, known, prefix, exact, from, through)
}

// Await returns at once: nothing more is recorded.
func (*Store) Await(ctx context.Context, _ string, _ etcdstore.Revision) error { return ctx.Err() }
