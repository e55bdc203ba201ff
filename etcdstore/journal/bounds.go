package journal

import (
	"context"
	"time"

	"revtail/etcdstore"
)

// Bounds bound a journal.
type Bounds struct {
	Age  time.Duration // how long events are kept; zero: without end
	Size int64         // of the journal on the disk, in bytes; zero: without bound
}

// sizeSlack is the part of the maximal size that is freed at a time, because pruning reads the whole journal.
const sizeSlack = 10

// Retain keeps the bounds: it prunes the range, those that have ended, and former ones.
func (w *Writer) Retain(ctx context.Context, b Bounds) error {
	for _, other := range w.journal.Ranges() {
		if err := w.journal.pruneFormer(other, b); err != nil {
			return err
		}
	}
	oldest, cut, current := etcdstore.Revision(0), etcdstore.Revision(0), w.current
	if b.Age > 0 {
		revision, _, ok, err := w.journal.At(current, time.Now().Add(-b.Age))
		if err != nil {
			return err
		}
		if ok {
			oldest = revision
		}
	}
	if size := w.journal.Size(); b.Size > 0 && size > b.Size {
		excess := float64(size-b.Size+b.Size/sizeSlack) / float64(size)
		begin := current.Oldest
		for _, other := range w.journal.Ranges() {
			if other.Ended && !other.Former {
				begin = min(begin, other.Oldest)
			}
		}
		cut = begin + etcdstore.Revision(excess*float64(current.Through-begin))
	}
	if err := w.journal.pruneEnded(ctx, b, cut); err != nil {
		return err
	}
	return w.Prune(ctx, max(oldest, cut))
}

// pruneFormer removes a former history whose last event is too old.
func (j *Journal) pruneFormer(of Range, b Bounds) error {
	if !of.Former || b.Age == 0 {
		return nil
	}
	last, err := j.Newest(of)
	if err != nil || time.Since(last) < b.Age {
		return err
	}
	return j.Remove(of)
}

// pruneEnded keeps the bounds of age and size for the ended ranges: cut is the revision with which the journal begins for its size.
func (j *Journal) pruneEnded(ctx context.Context, b Bounds, cut etcdstore.Revision) error {
	j.ending.Lock() // each part prunes them
	defer j.ending.Unlock()
	for _, of := range j.Ranges() {
		if !of.Ended || of.Former {
			continue
		}
		oldest, old, err := j.expired(of, b)
		if err != nil {
			return err
		}
		if old || of.Through <= cut {
			err = j.Remove(of)
		} else {
			w := &Writer{journal: j, current: of, tails: newTails(0)}
			err = w.Prune(ctx, max(oldest, cut))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expired returns the revision with which a range begins for its age, and whether all of it is too old.
func (j *Journal) expired(of Range, b Bounds) (oldest etcdstore.Revision, all bool, err error) {
	if b.Age == 0 {
		return 0, false, nil
	}
	before := time.Now().Add(-b.Age)
	last, err := j.Newest(of)
	if err != nil || last.Before(before) {
		return 0, err == nil, err
	}
	revision, _, ok, err := j.At(of, before)
	if err != nil || !ok {
		return 0, false, err
	}
	return revision, false, nil
}
