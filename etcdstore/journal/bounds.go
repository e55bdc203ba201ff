package journal

import (
	"context"
	"time"

	"revtail/etcdstore"
)

// prune keeps the bounds of age and size.
func (r *Recorder) prune(ctx context.Context, w *Writer) error {
	for _, other := range r.journal.Ranges() {
		if err := r.pruneFormer(other); err != nil {
			return err
		}
	}
	oldest, cut, current := etcdstore.Revision(0), etcdstore.Revision(0), w.Range()
	if r.config.Retention > 0 {
		revision, _, ok, err := r.journal.At(current, time.Now().Add(-r.config.Retention))
		if err != nil {
			return err
		}
		if ok {
			oldest = revision
		}
	}
	if size := r.journal.Size(); r.config.MaxSize > 0 && size > r.config.MaxSize {
		excess := float64(size-r.config.MaxSize+r.config.MaxSize/sizeSlack) / float64(size)
		begin := current.Oldest
		for _, other := range r.journal.Ranges() {
			if other.Ended && !other.Former {
				begin = min(begin, other.Oldest)
			}
		}
		cut = begin + etcdstore.Revision(excess*float64(current.Through-begin))
	}
	if err := r.pruneEnded(ctx, cut); err != nil {
		return err
	}
	return w.Prune(ctx, max(oldest, cut))
}

// pruneFormer removes a former history whose last event is too old.
func (r *Recorder) pruneFormer(of Range) error {
	if !of.Former || r.config.Retention == 0 {
		return nil
	}
	last, err := r.journal.Newest(of)
	if err != nil || time.Since(last) < r.config.Retention {
		return err
	}
	return r.journal.Remove(of)
}

// pruneEnded keeps the bounds of age and size for the ended ranges: cut is the revision with which the journal begins for its size.
func (r *Recorder) pruneEnded(ctx context.Context, cut etcdstore.Revision) error {
	r.journal.ending.Lock() // each part prunes them
	defer r.journal.ending.Unlock()
	for _, of := range r.journal.Ranges() {
		if !of.Ended || of.Former {
			continue
		}
		oldest, old, err := r.expired(of)
		if err != nil {
			return err
		}
		if old || of.Through <= cut {
			err = r.journal.Remove(of)
		} else {
			w := &Writer{journal: r.journal, current: of, tails: newTails(0)}
			err = w.Prune(ctx, max(oldest, cut))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expired returns the revision with which a range begins for its age, and whether all of it is too old.
func (r *Recorder) expired(of Range) (oldest etcdstore.Revision, all bool, err error) {
	if r.config.Retention == 0 {
		return 0, false, nil
	}
	before := time.Now().Add(-r.config.Retention)
	last, err := r.journal.Newest(of)
	if err != nil || last.Before(before) {
		return 0, err == nil, err
	}
	revision, _, ok, err := r.journal.At(of, before)
	if err != nil || !ok {
		return 0, false, err
	}
	return revision, false, nil
}
