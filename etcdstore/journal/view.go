package journal

import (
	"context"
	"iter"
	"slices"
	"time"

	"revtail/etcdstore"
)

// View is what all ranges together have of the keys with a prefix in one history of the etcd.
type View struct {
	journal *Journal
	history uint64
	prefix  string
}

// View returns the view of the keys with a prefix in a history.
func (j *Journal) View(history uint64, prefix string) View { return View{j, history, prefix} }

func (v View) ranges() []Range { return v.journal.covering(v.history, v.prefix, false) }

// Range returns what is known, as one range; false: nothing is. Where an ended range is not continued at once, it has a gap.
func (v View) Range() (Range, bool) {
	all := v.ranges()
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

// At returns the revision that the keys had at a time, and when the last event before it arrived; false: that is not known.
func (v View) At(when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	next := etcdstore.Revision(0) // with which the later range begins
	for _, known := range slices.Backward(v.ranges()) {
		if known.Ended && known.Through != next { // what followed is not recorded
			if last, err := v.journal.Newest(known); err != nil || when.After(last) {
				return 0, time.Time{}, false, err
			}
		}
		revision, arrived, ok, err = v.journal.At(known, when)
		if ok || err != nil {
			return revision, arrived, err == nil && known.Has(revision), err
		}
		next = known.Oldest
	}
	return 0, time.Time{}, false, nil
}

// Oldest returns the first revision that is known, and the time from which events are; false: nothing is known.
func (v View) Oldest() (revision etcdstore.Revision, at time.Time, ok bool, err error) {
	all := v.ranges()
	if len(all) == 0 {
		return 0, time.Time{}, false, nil
	}
	at, err = v.journal.Began(all[0])
	return all[0].Oldest, at, err == nil, err
}

// Last finds the last events. See Journal.Last.
func (v View) Last(ctx context.Context, o LastOptions) (etcdstore.Revision, error) {
	for _, known := range slices.Backward(v.ranges()) {
		part := o
		part.After, part.Through = max(o.After, known.Oldest), min(o.Through, known.Through)
		if part.After >= part.Through {
			continue
		}
		after, found, err := v.journal.Last(ctx, known, v.prefix, part)
		if err != nil || found >= o.Count {
			return after, err
		}
		o.Count -= found
	}
	return o.After, nil
}

// Arrivals yields the events from a revision through another one, or those of the key that equals the prefix. See Journal.Arrivals. The error is a
// *etcdstore.CompactedError if the journal does not have all of these revisions.
func (v View) Arrivals(ctx context.Context, exact bool, from, through etcdstore.Revision) iter.Seq2[Arrival, error] {
	return func(yield func(Arrival, error) bool) {
		known, ok := v.Range()
		if end, has := known.End(from - 1); !ok || !has || end < through || from <= known.Oldest {
			yield(Arrival{}, &etcdstore.CompactedError{Requested: from})
			return
		}
		for _, part := range v.ranges() {
			for arrival, err := range v.journal.Arrivals(ctx, part, v.prefix, exact, from, min(through, part.Through)) {
				if !yield(arrival, err) || err != nil {
					return
				}
			}
		}
		if again, ok := v.Range(); !ok || from <= again.Oldest { // its oldest events were removed meanwhile
			yield(Arrival{}, &etcdstore.CompactedError{Requested: from})
		}
	}
}
