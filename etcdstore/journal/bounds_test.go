package journal

import (
	"errors"
	"testing"
	"time"

	"revtail/etcdstore"
)

// TestBounds checks that the bounds of age and size delete the oldest events.
func TestBounds(t *testing.T) {
	for name, bounds := range map[string]Bounds{"age": {Age: time.Millisecond}, "size": {Size: 1}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin()
			w.write(200)
			w.record()
			<-time.After(10 * time.Millisecond)
			before := w.writer.Range()
			if err := w.writer.Retain(t.Context(), bounds); err != nil {
				t.Fatal(err)
			}
			if after := w.writer.Range(); after.Oldest <= before.Oldest+(before.Through-before.Oldest)/2 {
				t.Errorf("the oldest revision is %d of %d to %d", after.Oldest, before.Oldest, before.Through)
			}
			w.compare()
		})
	}
}

// knows reports whether the state at a revision can be read.
func (w *world) knows(at etcdstore.Revision) bool {
	w.t.Helper()
	_, err := w.journal.List(w.t.Context(), w.History(), root, etcdstore.ListOptions{At: at})
	if err != nil && !errors.Is(err, ErrUnknown) {
		w.t.Fatal(err)
	}
	return err == nil
}

// TestEndedRange checks that a range that has ended is pruned, and read no more when the etcd turns out to have another history.
func TestEndedRange(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(50)
	w.record()
	if err := w.writer.End(t.Context(), w.Store); err != nil {
		t.Fatal(err)
	}
	ended := w.writer.Range()
	w.writer = w.journal.Writer(root, WriterOptions{})
	w.begin()
	w.write(50)
	w.record()
	if next := w.writer.Range(); next.Oldest != ended.Through || !w.knows(ended.Oldest) {
		t.Fatalf("%+v, want it to continue %+v", next, ended)
	}
	if err := w.journal.discard(ended.Through); err != nil || !w.knows(ended.Through-1) {
		t.Errorf("another history that begins later: %v", err)
	}
	cut := ended.Oldest + 5
	if err := w.journal.pruneEnded(t.Context(), Bounds{}, cut); err != nil || w.knows(cut-1) || !w.knows(cut) {
		t.Errorf("it was not pruned at %d: %v", cut, err)
	}
	if err := w.journal.discard(ended.Through - 1); err != nil || w.knows(ended.Through-1) || !w.knows(ended.Through) {
		t.Errorf("another history that begins earlier: %v", err)
	}
}
