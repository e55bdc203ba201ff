package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// compacted is a store that has compacted the revisions before one.
type compacted struct {
	etcdstore.Store
	oldest etcdstore.Revision
	pages  int // how many pages with more than one key it returns before it fails; zero: all
}

// List implements etcdstore.Store. Like etcd, it does not say which revision is the oldest.
func (c *compacted) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if o.At > 0 && o.At < c.oldest {
		return etcdstore.Page{}, &etcdstore.CompactedError{Requested: o.At}
	}
	if c.pages > 0 && o.Limit > 1 {
		if c.pages--; c.pages == 0 {
			return etcdstore.Page{}, etcdstore.ErrUnavailable
		}
	}
	return c.Store.List(ctx, prefix, o)
}

// Watch implements etcdstore.Store.
func (c *compacted) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	if o.After+1 < c.oldest {
		return ended{&etcdstore.CompactedError{Requested: o.After, Compacted: c.oldest}}
	}
	return c.Store.Watch(ctx, prefix, o)
}

// ended is a watch that has ended.
type ended struct{ err error }

func (e ended) Next(context.Context) (etcdstore.Batch, error) { return etcdstore.Batch{}, e.err }
func (e ended) RequestProgress(context.Context) error         { return e.err }
func (ended) Close() error                                    { return nil }

// goOn writes some revisions that are compacted, and some that are not. It returns the oldest one that is not.
func (w *world) goOn() (oldest etcdstore.Revision) {
	w.t.Helper()
	w.write(20)
	oldest, err := w.Revision(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(40)
	return oldest
}

// TestGapEndsWithTheCompaction checks that a range goes on with the oldest revision that etcd has: a gap has only what is compacted.
func TestGapEndsWithTheCompaction(t *testing.T) {
	for lost := range etcdstore.Revision(3) { // how many revisions after the range are compacted; zero: many
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			w := newWorld(t)
			w.write(30)
			w.begin()
			w.write(50)
			w.record()
			before, oldest := w.writer.Range(), w.goOn()
			if lost > 0 {
				oldest = before.Through + lost
			}
			if err := w.writer.Begin(t.Context(), &compacted{Store: w.Store, oldest: oldest}); err != nil {
				t.Fatal(err)
			}
			gap := Gap{before.Through, oldest}
			if now := w.writer.Range(); len(now.Gaps) != 1 || now.Gaps[0] != gap || now.Through != oldest {
				t.Fatalf("%+v, want the gap %+v", now, gap)
			}
			w.record()
			w.compareAround(gap)
			w.reopen()
			w.compareAround(gap)
		})
	}
}

// TestBeginAfterAFailure checks that nothing is left of a Begin that failed after its first page, and read a later revision, or another history: etcd
// was restored meanwhile.
func TestBeginAfterAFailure(t *testing.T) {
	for _, restored := range []bool{false, true} {
		t.Run(fmt.Sprint("restored ", restored), func(t *testing.T) {
			w := newWorld(t)
			for i := range statePage {
				w.keys = append(w.keys, fmt.Sprintf("%szzz/%04d", root, i))
			}
			fill := make(map[string][]byte)
			for _, key := range w.keys[:len(w.keys)-20] {
				fill[key] = w.value(key)
			}
			w.Txn(fill, nil)
			w.begin()
			w.write(20)
			w.record()
			before := w.writer.Range()
			if restored {
				w.failToBegin(w.another(fill))
			}
			oldest := w.goOn()
			if !restored {
				w.failToBegin(w.Store)
			}
			w.reopen()
			if err := w.writer.Begin(t.Context(), &compacted{Store: w.Store, oldest: oldest}); err != nil {
				t.Fatal(err)
			}
			w.write(20)
			w.record()
			w.compareAround(Gap{before.Through, oldest})
			if _, err := w.journal.Verify(t.Context(), func(err error) { t.Error(err) }, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFirstBeginAfterAFailure checks that nothing is left of the first Begin of a range that failed, and read another history.
func TestFirstBeginAfterAFailure(t *testing.T) {
	w := newWorld(t)
	fill := make(map[string][]byte)
	for i := range statePage {
		w.keys = append(w.keys, fmt.Sprintf("%szzz/%04d", root, i))
		fill[w.keys[len(w.keys)-1]] = []byte("a value")
	}
	w.write(20)
	w.failToBegin(w.another(fill))
	w.reopen()
	w.begin()
	w.passAnother()
}

// TestFollowAfterAFailedBegin checks that nothing is left of a Begin that failed, when the range goes on without another one: etcd was restored from a
// backup that has the newest revision of the range.
func TestFollowAfterAFailedBegin(t *testing.T) {
	w := newWorld(t)
	fill := make(map[string][]byte)
	for i := range statePage {
		w.keys = append(w.keys, fmt.Sprintf("%szzz/%04d", root, i))
	}
	for _, key := range w.keys[20:] {
		fill[key] = w.value(key)
	}
	w.Txn(fill, nil)
	w.begin()
	w.write(20)
	w.record()
	w.failToBegin(w.another(fill))
	w.reopen()
	if err := w.writer.Verify(t.Context(), w.Store); err != nil {
		t.Fatal(err)
	}
	w.passAnother()
}

// passAnother records until the revisions of the other history are behind, and compares the states at both ends of the range.
func (w *world) passAnother() {
	w.t.Helper()
	for range 450 {
		w.Txn(map[string][]byte{w.keys[0]: []byte("later")}, nil)
	}
	w.record()
	r := w.writer.Range()
	for _, at := range []etcdstore.Revision{r.Oldest, r.Through} {
		want, err := w.List(w.t.Context(), root, etcdstore.ListOptions{At: at})
		if err != nil {
			w.t.Fatal(err)
		}
		got, err := w.journal.List(w.t.Context(), w.History(), root, etcdstore.ListOptions{At: at})
		if err != nil {
			w.t.Fatal(err)
		}
		w.same(fmt.Sprint("revision ", at), want, got)
	}
}

// failToBegin reads the first page of the present state of a store, in which all keys change.
func (w *world) failToBegin(store *memory.Store) {
	w.t.Helper()
	revision, err := store.Revision(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.writer.Begin(w.t.Context(), &compacted{Store: store, oldest: revision, pages: 2}); !errors.Is(err, etcdstore.ErrUnavailable) {
		w.t.Fatalf("Begin: %v, want ErrUnavailable", err)
	}
}

// another returns a store with another history, in which all keys were written after the range.
func (w *world) another(fill map[string][]byte) *memory.Store {
	w.t.Helper()
	other, changed := memory.New(), make(map[string][]byte)
	for i := range 400 {
		other.Txn(map[string][]byte{root + "another": fmt.Append(nil, i)}, nil)
	}
	for key := range fill {
		changed[key] = []byte("of another history")
	}
	other.Txn(changed, nil)
	return other
}

// TestBeginOfAnotherHistory checks that a range does not go on with an etcd in which a key was written at a revision at which it was not.
func TestBeginOfAnotherHistory(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(60)
	w.record()
	before, other := w.writer.Range(), fork(t, 50)
	other.write(100)
	if err := w.writer.Begin(t.Context(), other.Store); !errors.Is(err, ErrOtherHistory) {
		t.Errorf("%v, want ErrOtherHistory", err)
	}
	if now := w.writer.Range(); now.Through != before.Through || len(now.Gaps) > 0 {
		t.Errorf("%+v, before %+v", now, before)
	}
	w.record()
	w.compare()
}
