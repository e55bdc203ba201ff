package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// statePage is how many keys are read from etcd at a time.
const statePage = 500

// compactedTimeout bounds the wait for the error of a watch of a compacted revision. There is none if the etcd has become another one.
const compactedTimeout = 10 * time.Second

// Begin reads the state of the range from etcd from which on events can be added. A range that has begun before, and whose newest revision etcd has
// compacted, goes on at the oldest revision that etcd has after it, and gets a gap until there. One that has not begun before begins where the ended
// ranges of its keys end, if etcd has that revision still, and otherwise at the present revision. The error is ErrOtherHistory, or one of the store or
// of the database; etcd may have compacted the state meanwhile, and the caller tries again.
func (w *Writer) Begin(ctx context.Context, store etcdstore.Store) error {
	at, err := w.beginning(ctx, store)
	if err != nil {
		return err
	}
	if at > 0 {
		err := w.begin(ctx, store, at)
		if err == nil || !isCompacted(err) && !errors.As(err, new(*etcdstore.FutureError)) {
			return err
		}
	}
	return w.begin(ctx, store, 0)
}

// beginning returns the revision at which Begin reads the state first; zero: the present one.
func (w *Writer) beginning(ctx context.Context, store etcdstore.Store) (etcdstore.Revision, error) {
	through := w.current.Through
	if through == 0 {
		return w.journal.successor(store.History(), w.current.Prefix), nil
	}
	_, err := store.List(ctx, w.current.Prefix, etcdstore.ListOptions{At: through + 1, Limit: 1, KeysOnly: true})
	if !isCompacted(err) {
		return through + 1, nil // an error is that of the read at this revision, too
	}
	ctx, cancel := context.WithTimeout(ctx, compactedTimeout)
	defer cancel()
	watch := store.Watch(ctx, w.current.Prefix, etcdstore.WatchOptions{After: through}) // its error has the oldest revision
	defer func() { _ = watch.Close() }()
	_, err = watch.Next(ctx)
	if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); ok {
		return compacted.Compacted, nil
	}
	return 0, err
}

// begin is Begin with the state at a revision; zero: the present one.
func (w *Writer) begin(ctx context.Context, store etcdstore.Store, at etcdstore.Revision) (err error) {
	defer w.forgetAfter(&err)
	if err := w.startBegin(); err != nil {
		return err
	}
	next, gap := w.current, Gap{After: w.current.Through}
	next.Beginning = false
	r, err := w.journal.newReader(w.current.Number)
	if err != nil {
		return err
	}
	defer r.close()
	o := etcdstore.ListOptions{At: at, Limit: statePage}
	for {
		page, err := store.List(ctx, next.Prefix, o)
		if err != nil {
			return fmt.Errorf("reading the state at which the journal begins: %w", err)
		}
		last := page.Remaining == 0 || len(page.KVs) == 0
		if err := w.addState(r, page, o.After, last); err != nil {
			return err
		}
		o.At = page.Revision
		if last {
			break
		}
		o.After = page.KVs[len(page.KVs)-1].Key
	}
	gap.Until = o.At
	if next.Through == 0 {
		next.Oldest = o.At
	} else if gap.Until > gap.After {
		next.Gaps = append(append([]Gap(nil), next.Gaps...), gap)
	}
	next.History, next.Through = store.History(), max(o.At, next.Through)
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(timeKey(next.Number, time.Now(), o.At), nil, nil); err != nil {
		return err
	}
	return w.commit(b, next, pebble.Sync)
}

// addState writes those states of a page that the journal does not have, and the deletions of keys that are not in the page. Readers see nothing of it
// before Begin is at its end.
func (w *Writer) addState(r *reader, page etcdstore.Page, after string, last bool) error {
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	present := make(map[string]bool, len(page.KVs))
	for i := range page.KVs {
		kv := &page.KVs[i]
		present[kv.Key] = true
		f, err := r.find(kv.Key, newest)
		switch {
		case err != nil:
			return err
		case f != nil && f.revision == kv.Modified:
			continue
		case kv.Modified <= w.current.Through: // the etcd was restored after it was compared
			return fmt.Errorf("%w: %q was written at revision %d", ErrOtherHistory, kv.Key, kv.Modified)
		}
		if err := w.set(b, kv.Key, kv.Modified, kv); err != nil {
			return err
		}
	}
	for key, err := range r.keys(w.current.Prefix, etcdstore.ListOptions{After: after}) {
		if err != nil {
			return err
		}
		if !last && key > page.KVs[len(page.KVs)-1].Key {
			break
		}
		if present[key] {
			continue
		}
		if f, err := r.find(key, newest); err != nil {
			return err
		} else if f != nil && !f.deleted {
			if err := w.set(b, key, page.Revision, nil); err != nil {
				return err
			}
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	w.tails.trim()
	return nil
}

// startBegin notes that states after the range are written.
func (w *Writer) startBegin() error {
	if err := w.discardBegin(); err != nil || w.current.Through == 0 {
		return err
	}
	next := w.current
	next.Beginning = true
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	return w.commit(b, next, pebble.Sync)
}

// discardBegin deletes what a Begin that failed has written: the next one can be at an earlier revision, or of another history.
func (w *Writer) discardBegin() error {
	next := w.current
	if next.Through > 0 && !next.Beginning {
		return nil
	}
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	if next.Through == 0 { // the range is not written before it begins
		return errors.Join(deleteContent(b, next.Number), b.Commit(pebble.NoSync))
	}
	r, err := w.journal.newReader(next.Number)
	if err != nil {
		return err
	}
	defer r.close()
	for key, err := range r.keys("", etcdstore.ListOptions{}) {
		if err == nil {
			err = w.deleteAfter(b, r, key, next.Through)
		}
		if err == nil && b.Len() >= deleteBatch {
			err = b.Commit(pebble.NoSync)
			b.Reset()
		}
		if err != nil {
			return err
		}
	}
	next.Beginning = false
	return w.commit(b, next, pebble.Sync)
}

// deleteAfter deletes the states of a key after a revision.
func (w *Writer) deleteAfter(b *pebble.Batch, r *reader, key string, through etcdstore.Revision) error {
	f, err := r.find(key, newest)
	for ; err == nil && f != nil && f.revision > through; f, err = r.find(key, f.revision-1) {
		if err := b.Delete(stateKey(w.current.Number, key, f.revision), nil); err != nil {
			return err
		}
	}
	if err == nil && f == nil { // no entry is left of the key
		return b.Delete(indexKey(w.current.Number, key), nil)
	}
	return err
}

// ErrOtherHistory says that the etcd has another history than the range: it was restored from a backup, or replaced.
var ErrOtherHistory = errors.New("etcd has another history than the journal")

// Verify compares the range with the etcd at the newest revision of the range. The error is ErrOtherHistory, or one of the store; a
// *etcdstore.CompactedError says that this revision can no longer be compared.
func (w *Writer) Verify(ctx context.Context, store etcdstore.Store) error {
	if err := w.discardBegin(); err != nil {
		return err
	}
	revision, err := store.Revision(ctx)
	switch {
	case err != nil:
		return err
	case w.current.History != store.History() || revision < w.current.Through:
		return ErrOtherHistory
	}
	r, err := w.journal.newReader(w.current.Number)
	if err != nil {
		return err
	}
	defer r.close()
	o := etcdstore.ListOptions{At: w.current.Through, Limit: 10 * statePage, KeysOnly: true}
	kept, err := r.count(w.current.Prefix, o.At)
	if err != nil {
		return err
	}
	var last witness // the key that was written last
	for {
		page, err := store.List(ctx, w.current.Prefix, o)
		if err != nil {
			return err
		}
		for _, kv := range page.KVs {
			if kv.Modified > last.revision {
				last = witness{kv.Key, kv.Modified}
			}
			f, err := r.find(kv.Key, o.At)
			if err != nil {
				return err
			}
			if kept--; f == nil || f.deleted || f.revision != kv.Modified {
				return fmt.Errorf("%w: %q was written at revision %d", ErrOtherHistory, kv.Key, kv.Modified)
			}
		}
		if page.Remaining == 0 || len(page.KVs) == 0 {
			break
		}
		o.After = page.KVs[len(page.KVs)-1].Key
	}
	if kept != 0 {
		return fmt.Errorf("%w: %d keys exist in only one of them", ErrOtherHistory, kept)
	}
	return w.verifyValue(ctx, store, r, last)
}

// verifyValue compares the value of the key that was written last: another history can have written the same keys at the same revisions, if only a few
// are written again and again.
func (w *Writer) verifyValue(ctx context.Context, store etcdstore.Store, r *reader, last witness) error {
	if last.key == "" {
		return nil
	}
	same, err := w.sameValue(ctx, store, r, last.key, w.current.Through)
	switch {
	case errors.Is(err, ErrUnknown): // its value is not kept
		return nil
	case err == nil && !same:
		return fmt.Errorf("%w: %q has another value at revision %d", ErrOtherHistory, last.key, last.revision)
	}
	return err
}

// BeginAnew ends the range as one of a former history, and begins one of the present history.
func (w *Writer) BeginAnew(ctx context.Context, store etcdstore.Store) error {
	if err := errors.Join(w.journal.end(w.current), w.journal.discard(0)); err != nil {
		return err
	}
	w.current, w.tails = w.journal.newRange(w.current.Prefix, w.current.Except), newTails(w.tails.limit)
	return w.Begin(ctx, store)
}
