package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// deleteBatch is how many bytes one batch of deletions has.
const deleteBatch = 1 << 20

// Prune deletes what is needed only for revisions before oldest: afterwards the range begins there. A revision that the range does not have, or
// with which it begins already, changes nothing.
func (w *Writer) Prune(ctx context.Context, oldest etcdstore.Revision) error {
	next := w.current
	if oldest <= next.Oldest || oldest > next.Through {
		return nil
	}
	next.Oldest, next.Gaps = oldest, nil
	for _, gap := range w.current.Gaps {
		switch {
		case gap.After >= oldest:
			next.Gaps = append(next.Gaps, gap)
		case gap.Until > oldest:
			next.Oldest = gap.Until // the states in the gap are not known
		}
	}
	b := w.journal.db.NewBatch()
	err := w.commit(b, next, pebble.Sync) // reads of what is deleted are refused from now on
	err = errors.Join(err, b.Close())
	if err != nil {
		return err
	}
	if err := w.pruneStates(ctx); err != nil {
		return fmt.Errorf("pruning the journal: %w", err)
	}
	return w.pruneIndexes()
}

// pruneStates deletes the entries before the newest one of each key at the oldest revision, which must not need them.
func (w *Writer) pruneStates(ctx context.Context) error {
	r, err := w.journal.newReader(w.current.Number)
	if err != nil {
		return err
	}
	defer r.close()
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	for key, err := range r.keys(w.current.Prefix, etcdstore.ListOptions{}) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := w.pruneKey(b, r, key); err != nil {
			return err
		}
		if b.Len() < deleteBatch {
			continue
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
		_ = b.Close()
		b = w.journal.db.NewBatch()
	}
	return b.Commit(pebble.NoSync)
}

func (w *Writer) pruneKey(b *pebble.Batch, r *reader, key string) error {
	base, err := r.find(key, w.current.Oldest)
	if err != nil || base == nil {
		return err
	}
	name := stateKey(w.current.Number, key, base.revision)
	if base.deleted {
		err = b.DeleteRange(stateKey(w.current.Number, key, 0), append(name, 0), nil)
		if later := r.states.Next() && bytes.Compare(r.states.Key(), afterKey(w.current.Number, key)) < 0; !later {
			w.tails.forget(key) // the next state is the first one
			err = errors.Join(err, r.states.Error(), b.Delete(indexKey(w.current.Number, key), nil))
		}
		return err
	}
	whole := base.entry
	if whole.depth > 0 {
		if whole.value, err = r.value(key, *base); err != nil {
			return err
		}
		if err := w.flatten(b, r, key, *base, whole.value); err != nil {
			return err
		}
	}
	return b.DeleteRange(stateKey(w.current.Number, key, 0), name, nil)
}

// flatten writes an entry whole, and gives the differences after it the depth that they have then.
func (w *Writer) flatten(b *pebble.Batch, r *reader, key string, base found, value []byte) error {
	e := base.entry
	e.value, e.depth = value, 0
	if err := b.Set(stateKey(w.current.Number, key, base.revision), e.encode(), nil); err != nil {
		return err
	}
	end := afterKey(w.current.Number, key)
	depth := 0
	for ok := r.states.SeekGE(stateKey(w.current.Number, key, base.revision+1)); ok && bytes.Compare(r.states.Key(), end) < 0; ok = r.states.Next() {
		f, err := r.current(key)
		if err != nil {
			return err
		}
		if f.depth == 0 {
			break
		}
		depth++
		f.depth = depth
		if err := b.Set(stateKey(w.current.Number, key, f.revision), f.encode(), nil); err != nil {
			return err
		}
	}
	w.tails.forget(key)
	return r.states.Error()
}

// pruneIndexes deletes the events up to the oldest revision, and their times but for the last.
func (w *Writer) pruneIndexes() error {
	number, oldest := w.current.Number, w.current.Oldest
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.DeleteRange(eventKey(number, 0, 0), eventKey(number, oldest+1, 0), nil); err != nil {
		return err
	}
	it, err := w.journal.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, number), UpperBound: head(timeKind, number+1)})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	var before []byte
	for ok := it.First(); ok; ok = it.Next() {
		_, revision, err := parseTimeKey(it.Key())
		if err != nil {
			return err
		}
		if revision > oldest {
			break
		}
		if before != nil {
			if err := b.Delete(before, nil); err != nil {
				return err
			}
		}
		before = bytes.Clone(it.Key())
	}
	return errors.Join(it.Error(), b.Commit(pebble.NoSync))
}

// Remove deletes a range of a former history.
func (j *Journal) Remove(r Range) error {
	b := j.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := errors.Join(deleteContent(b, r.Number), b.Delete(head(rangeKind, r.Number), nil), b.Delete(head(newestKind, r.Number), nil), b.Commit(pebble.Sync)); err != nil {
		return fmt.Errorf("removing a former history from the journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.ranges, r.Number)
	return nil
}

// deleteContent deletes all of a range but what Range has.
func deleteContent(b *pebble.Batch, number uint32) error {
	for _, kind := range []byte{stateKind, eventKind, timeKind, indexKind} {
		if err := b.DeleteRange(head(kind, number), head(kind, number+1), nil); err != nil {
			return err
		}
	}
	return nil
}

// Newest returns when the last event of a range arrived; zero: never.
func (j *Journal) Newest(r Range) (time.Time, error) {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, r.Number), UpperBound: head(timeKind, r.Number+1)})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = it.Close() }()
	if !it.Last() {
		return time.Time{}, it.Error()
	}
	at, _, err := parseTimeKey(it.Key())
	return at, err
}
