package archive

import (
	"context"
	"iter"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

func (s *Store) view(prefix string) journal.View { return s.journal.View(s.history, prefix) }

// RangeOf returns what is recorded of the keys with a prefix; false: nothing is.
func (s *Store) RangeOf(prefix string) (journal.Range, bool) { return s.view(prefix).Range() }

// At returns the revision that the keys with a prefix had at a time, and when the last event before it arrived; false: that is not recorded.
func (s *Store) At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	return s.view(prefix).At(when)
}

// Oldest returns the revision from which the keys with a prefix are recorded, and the time of that; false: they are not recorded.
func (s *Store) Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	return s.view(prefix).Oldest()
}

// Last finds the last events of the keys with a prefix. See journal.View.Last.
func (s *Store) Last(ctx context.Context, prefix string, o journal.LastOptions) (etcdstore.Revision, error) {
	if !s.Records(prefix) {
		return 0, journal.ErrUnknown
	}
	return s.view(prefix).Last(ctx, o)
}

// Records reports whether the keys with a prefix are recorded.
func (s *Store) Records(prefix string) bool {
	_, ok := s.RangeOf(prefix)
	return ok
}

// Arrivals yields when the events of the keys with a prefix arrived. See journal.View.Arrivals.
func (s *Store) Arrivals(ctx context.Context, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[journal.Arrival, error] {
	return s.view(prefix).Arrivals(ctx, exact, from, through)
}

// Await returns at once: nothing more is recorded.
func (*Store) Await(ctx context.Context, _ string, _ etcdstore.Revision) error { return ctx.Err() }
