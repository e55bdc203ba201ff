package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"revtail/etcdstore"
)

// finish makes a range an ended one.
func (j *Journal) finish(r Range) error {
	r.Ended = true
	return j.mark(r)
}

// discard makes the ended ranges with later revisions than one former ones: the etcd has another history after it.
func (j *Journal) discard(after etcdstore.Revision) error {
	j.ending.Lock()
	defer j.ending.Unlock()
	var errs []error
	for _, r := range j.Ranges() {
		if r.Ended && !r.Former && r.Through > after {
			errs = append(errs, j.end(r))
		}
	}
	return errors.Join(errs...)
}

// covering returns the ranges that have all keys with a prefix, or if partial all of them that are not excluded, the oldest first. Only the last one may
// go on.
func (j *Journal) covering(history uint64, prefix string, partial bool) (out []Range) {
	for _, r := range j.Ranges() {
		if r.readable(history) && (r.Records(prefix) || partial && strings.HasPrefix(prefix, r.Prefix)) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.Through, b.Through))
	})
	return out
}

// rangeAt returns the covering range of a revision, or of the events after it; false: there is none.
func (j *Journal) rangeAt(history uint64, prefix string, revision etcdstore.Revision, partial bool) (Range, bool) {
	for _, r := range slices.Backward(j.covering(history, prefix, partial)) {
		if r.Oldest <= revision {
			return r, true
		}
	}
	return Range{}, false
}

// successor returns the revision at which a range that is not in the journal yet begins, so that it continues the ended ranges of its keys; zero: there
// are none.
func (j *Journal) successor(history uint64, prefix string) (at etcdstore.Revision) {
	for _, r := range j.Ranges() {
		if r.Ended && r.readable(history) && (strings.HasPrefix(prefix, r.Prefix) || strings.HasPrefix(r.Prefix, prefix)) {
			at = max(at, r.Through)
		}
	}
	return at
}

// End ends the range, because its prefix is no longer recorded. Before that it is compared with the etcd, as Verify and Rejoin do: what is not proven to
// be of the history of the etcd is deleted, and a range of another history becomes a former one. The error is one of the store or of the database.
func (w *Writer) End(ctx context.Context, store etcdstore.Store) error {
	err := w.Verify(ctx, store)
	if isCompacted(err) {
		err = w.keepProven(ctx, store)
	}
	logger, prefix, through := w.journal.logger, w.current.Prefix, w.current.Through
	switch {
	case errors.Is(err, errEntry):
		logger.Error("a part of the journal that is no longer recorded is damaged, and not read", "prefix", prefix, "error", err)
		return w.journal.end(w.current)
	case errors.Is(err, ErrOtherHistory):
		logger.Warn("etcd was restored or replaced: the journal keeps the former history apart", "prefix", prefix, "through", through, "reason", err)
		return w.journal.end(w.current)
	case err != nil:
		return err
	}
	logger.Info("the journal ends here, because the prefix is no longer recorded", "prefix", prefix, "through", through)
	return w.journal.finish(w.current)
}

func isCompacted(err error) bool { return errors.As(err, new(*etcdstore.CompactedError)) }
