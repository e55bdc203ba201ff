package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

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

// covering returns the ranges that have all keys with a prefix, the oldest first. Only the last one may go on.
func (j *Journal) covering(history uint64, prefix string) (out []Range) {
	for _, r := range j.Ranges() {
		if r.covers(history, prefix) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.Through, b.Through))
	})
	return out
}

// rangeAt returns the range that has all keys with a prefix at a revision, or after it; false: there is none.
func (j *Journal) rangeAt(history uint64, prefix string, revision etcdstore.Revision) (Range, bool) {
	for _, r := range slices.Backward(j.covering(history, prefix)) {
		if r.Oldest <= revision {
			return r, true
		}
	}
	return Range{}, false
}

// rangeOf returns what is known of all keys with a prefix, as one range; false: nothing is. Where an ended range is not continued at once, it has a gap.
func (j *Journal) rangeOf(history uint64, prefix string) (Range, bool) {
	all := j.covering(history, prefix)
	if len(all) == 0 {
		return Range{}, false
	}
	out := all[len(all)-1]
	out.Oldest, out.Gaps = all[0].Oldest, nil
	for i, r := range all {
		if i > 0 && all[i-1].Through < r.Oldest {
			out.Gaps = append(out.Gaps, Gap{all[i-1].Through, r.Oldest})
		}
		out.Gaps = append(out.Gaps, r.Gaps...)
	}
	return out, true
}

// successor returns the revision at which a range that is not in the journal yet begins, so that it continues the ended ranges of its keys; zero: there
// are none.
func (j *Journal) successor(history uint64, prefix string) (at etcdstore.Revision) {
	for _, r := range j.Ranges() {
		if r.Ended && !r.Former && r.History == history && (strings.HasPrefix(prefix, r.Prefix) || strings.HasPrefix(r.Prefix, prefix)) {
			at = max(at, r.Through)
		}
	}
	return at
}

// finishRanges ends the ranges of prefixes that are no longer recorded, if they have the history of the etcd. It tries until that is known.
func (r *Recorder) finishRanges(ctx context.Context) {
	for _, w := range r.ending {
		for ctx.Err() == nil {
			err := r.finishRange(ctx, w)
			if err == nil || ctx.Err() != nil {
				break
			}
			if !errors.Is(err, etcdstore.ErrUnavailable) {
				r.config.Logger.Error("the journal is not written", "prefix", w.current.Prefix, "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
	}
}

func (r *Recorder) finishRange(ctx context.Context, w *Writer) error {
	err := w.Verify(ctx, r.config.Store)
	if isCompacted(err) {
		err = w.keepProven(ctx, r.config.Store)
	}
	switch {
	case errors.Is(err, errEntry):
		r.config.Logger.Error("a part of the journal that is no longer recorded is damaged, and not read", "prefix", w.current.Prefix, "error", err)
		return r.journal.end(w.current)
	case errors.Is(err, ErrOtherHistory):
		r.config.Logger.Warn("etcd was restored or replaced: the journal keeps the former history apart", "prefix", w.current.Prefix, "through", w.current.Through, "reason", err)
		return r.journal.end(w.current)
	case err != nil:
		return err
	}
	r.config.Logger.Info("the journal ends here, because the prefix is no longer recorded", "prefix", w.current.Prefix, "through", w.current.Through)
	return r.journal.finish(w.current)
}

// begin begins a range: where the ended ranges of its keys end, if etcd has that revision still, or now.
func (r *Recorder) begin(ctx context.Context, p *part) error {
	if at := r.journal.successor(r.config.Store.History(), p.prefix); at > 0 {
		err := p.writer.begin(ctx, r.config.Store, at)
		if err == nil || !isCompacted(err) && !errors.As(err, new(*etcdstore.FutureError)) {
			return err
		}
	}
	return p.writer.Begin(ctx, r.config.Store)
}
