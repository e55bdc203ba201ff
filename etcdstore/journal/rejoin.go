package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// maxWitnesses bounds how many values Rejoin compares.
const maxWitnesses = 100

// Rejoin continues the range of an etcd that has compacted the newest revision of the range. The range is kept through the last revision that is proven
// to be of the history of the etcd: the one of a key that has not changed since, and is the same in both. The later revisions are deleted, and are a
// part of the gap, because the etcd may have been restored meanwhile. The error is ErrOtherHistory if no revision is proven, or one of the store or of
// the database.
func (w *Writer) Rejoin(ctx context.Context, store etcdstore.Store) error {
	if err := w.keepProven(ctx, store); err != nil {
		return err
	}
	return w.Begin(ctx, store)
}

// keepProven deletes what is not proven to be of the history of the etcd.
func (w *Writer) keepProven(ctx context.Context, store etcdstore.Store) error {
	through, err := w.proven(ctx, store)
	if err != nil || through == w.current.Through {
		return err
	}
	return errors.Join(w.truncate(through), w.journal.discard(through))
}

// witness is a key of the etcd whose newest state the range has, too.
type witness struct {
	key      string
	revision etcdstore.Revision
}

// proven returns the last revision of the range that is proven to be of the history of the etcd.
func (w *Writer) proven(ctx context.Context, store etcdstore.Store) (etcdstore.Revision, error) {
	least := w.current.Oldest
	if n := len(w.current.Gaps); n > 0 {
		least = max(least, w.current.Gaps[n-1].Until) // the states that Begin wrote have no events
	}
	r, err := w.journal.newReader(w.current.Number)
	if err != nil {
		return 0, err
	}
	defer r.close()
	witnesses, differs, at, err := w.witnesses(ctx, store, r)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(witnesses, func(a, b witness) int { return int(b.revision - a.revision) })
	tried := 0
	for _, of := range witnesses {
		if of.revision < least || tried == maxWitnesses {
			break
		}
		if of.revision >= differs {
			continue
		}
		tried++
		same, err := w.sameValue(ctx, store, r, of.key, at)
		switch {
		case errors.Is(err, ErrUnknown): // its value is not kept
		case err != nil:
			return 0, err
		case same:
			return of.revision, nil
		default:
			differs = of.revision
		}
	}
	return 0, fmt.Errorf("%w, or cannot be compared: it has compacted revision %d", ErrOtherHistory, w.current.Through)
}

// witnesses returns the keys that have not changed since the newest revision of the range and are at the same revision in both, the least revision at
// which they differ, and the revision of the etcd at which it was read.
func (w *Writer) witnesses(ctx context.Context, store etcdstore.Store, r *reader) (same []witness, differs, at etcdstore.Revision, err error) {
	differs = math.MaxInt64
	for o := (etcdstore.ListOptions{Limit: 10 * statePage, KeysOnly: true}); ; {
		page, err := store.List(ctx, w.current.Prefix, o)
		if err != nil {
			return nil, 0, 0, err
		}
		for _, kv := range page.KVs {
			if kv.Modified > w.current.Through {
				continue
			}
			f, err := r.find(kv.Key, w.current.Through)
			if err != nil {
				return nil, 0, 0, err
			}
			if f != nil && !f.deleted && f.revision == kv.Modified && f.created == kv.Created && f.version == kv.Version {
				same = append(same, witness{kv.Key, kv.Modified})
			} else {
				differs = min(differs, kv.Modified)
			}
		}
		o.At = page.Revision
		if page.Remaining == 0 || len(page.KVs) == 0 {
			return same, differs, o.At, nil
		}
		o.After = page.KVs[len(page.KVs)-1].Key
	}
}

// sameValue reports whether a key has the same value in the etcd at a revision and at the newest revision of the range. The error is ErrUnknown if the
// range does not have the value.
func (w *Writer) sameValue(ctx context.Context, store etcdstore.Store, r *reader, key string, at etcdstore.Revision) (bool, error) {
	kept, err := r.kv(key, w.current.Through, false)
	if err != nil {
		return false, err
	}
	page, err := store.List(ctx, key, etcdstore.ListOptions{At: at, Exact: true})
	if err != nil {
		return false, err
	}
	return kept != nil && len(page.KVs) == 1 && page.KVs[0].Modified == kept.Modified && bytes.Equal(page.KVs[0].Value, kept.Value), nil
}

// truncate deletes the events after a revision, and the states that they have written.
func (w *Writer) truncate(through etcdstore.Revision) error {
	number, next := w.current.Number, w.current
	r, err := w.journal.newReader(number)
	if err != nil {
		return err
	}
	defer r.close()
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	for e, err := range w.journal.index(number, through+1, w.current.Through) {
		if err == nil {
			err = b.Delete(stateKey(number, e.key, e.revision), nil)
		}
		if f, failed := r.find(e.key, through); f == nil { // no entry is left of the key
			err = errors.Join(err, failed, b.Delete(indexKey(number, e.key), nil))
		}
		if err != nil {
			return err
		}
	}
	if err := b.DeleteRange(eventKey(number, through+1, 0), eventKey(number, math.MaxInt64, 0), nil); err != nil {
		return err
	}
	if err := w.truncateTimes(b, through); err != nil {
		return err
	}
	next.Through, w.tails = through, newTails(w.tails.limit)
	err = w.commit(b, next, pebble.Sync)
	w.journal.remainders.Store(newRemainders()) // the range may have other states at these revisions later
	return err
}

// truncateTimes deletes the times of revisions after a revision.
func (w *Writer) truncateTimes(b *pebble.Batch, through etcdstore.Revision) error {
	number := w.current.Number
	it, err := w.journal.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, number), UpperBound: head(timeKind, number+1)})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for ok := it.Last(); ok; ok = it.Prev() {
		_, revision, err := parseTimeKey(it.Key())
		if err != nil {
			return err
		}
		if revision <= through {
			break
		}
		if err := b.Delete(it.Key(), nil); err != nil {
			return err
		}
	}
	return it.Error()
}
