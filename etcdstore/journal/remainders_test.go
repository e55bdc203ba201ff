package journal

import (
	"fmt"
	"testing"

	"revtail/etcdstore"
)

// TestRemainders checks the pages of a list, which count what follows once, also after the range has lost revisions and has other states at them, and that
// the positions are bounded.
func TestRemainders(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(200)
	w.record()
	through := w.writer.Range().Through
	w.comparePages(through, 0)
	if err := w.writer.truncate(through - 100); err != nil {
		t.Fatal(err)
	}
	other := fork(t, 100)
	w.Store, w.random = other.Store, other.random
	if _, err := w.Create(t.Context(), root+"zz", nil); err != nil { // one more after each page
		t.Fatal(err)
	}
	w.write(150)
	w.record()
	w.comparePages(through, 1) // a client goes on after the first page
	r := newRemainders()
	for i := range maxRemainders + 10 {
		r.put(position{at: etcdstore.Revision(i)}, int64(i))
		r.put(position{at: etcdstore.Revision(i)}, int64(i))
	}
	if _, ok := r.get(position{at: 9}); ok || len(r.known) != maxRemainders {
		t.Errorf("%d positions are known, the oldest too: %t", len(r.known), ok)
	}
	if n, ok := r.get(position{at: 10}); !ok || n != 10 {
		t.Errorf("from 10 on there are %d (%t)", n, ok)
	}
}

// comparePages compares lists by pages, from one on, at some revisions up to another one with those of the store.
func (w *world) comparePages(through etcdstore.Revision, first int) {
	w.t.Helper()
	for at := through - 100; at <= through; at += 25 {
		o := etcdstore.ListOptions{At: at, Limit: 1}
		for n := 0; ; n++ {
			want, err := w.List(w.t.Context(), root, o)
			if err != nil {
				w.t.Fatal(err)
			}
			if n >= first {
				got, err := w.journal.List(w.t.Context(), w.History(), root, o)
				if err != nil {
					w.t.Fatal(err)
				}
				w.same(fmt.Sprintf("page %d at %d", n, at), want, got)
			}
			if want.Remaining == 0 {
				break
			}
			o.After = want.KVs[len(want.KVs)-1].Key
			if n < first {
				continue
			}
			if counted, ok := w.journal.remainders.Load().get(position{w.writer.current.Number, root, o.After, at}); !ok || counted != want.Remaining {
				w.t.Errorf("%d keys after page %d at %d, want %d", counted, n, at, want.Remaining)
			}
		}
	}
}
