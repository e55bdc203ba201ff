package journal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// indexed returns the keys of the index of the range.
func (w *world) indexed() (out []string) {
	w.t.Helper()
	r, err := w.journal.newReader(w.writer.current.Number)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.close()
	for key, err := range r.keys("", etcdstore.ListOptions{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, key)
	}
	return out
}

// TestIndex checks that the index has the keys that have entries, also of a journal that an earlier version wrote without one.
func TestIndex(t *testing.T) {
	w := newWorld(t)
	w.write(100)
	w.begin()
	w.write(300)
	w.record()
	want := w.indexed()
	if len(want) < len(w.keys) || !slices.IsSorted(want) {
		t.Fatalf("the index has %q, want all keys", want)
	}
	earlier := w.writer.Range()
	earlier.Indexed = false
	b := w.journal.db.NewBatch()
	if err := b.DeleteRange([]byte{indexKind}, []byte{indexKind + 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Set(indexKey(earlier.Number, root+"left"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.journal.commit(b, earlier, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	w.reopen()
	if got := w.indexed(); !slices.Equal(got, want) {
		t.Errorf("the new index has %q, want %q", got, want)
	}
	w.compare()
	if !w.writer.Range().Indexed {
		t.Error("the range is not marked")
	}
}

// TestPrunedIndex checks that a key leaves the index with its last entry, and comes back with the next one.
func TestPrunedIndex(t *testing.T) {
	w := newWorld(t)
	w.begin()
	const key = root + "brief"
	change := func(verb etcdstore.Verb) {
		t.Helper()
		if _, err := w.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: verb, Key: key, Value: []byte("value")}}}); err != nil {
			t.Fatal(err)
		}
		w.record()
	}
	has := func(want bool) {
		t.Helper()
		if got := slices.Contains(w.indexed(), key); got != want {
			t.Errorf("the index has the key: %t, want %t", got, want)
		}
		w.compare()
	}
	prune := func() {
		t.Helper()
		if err := w.writer.Prune(t.Context(), w.writer.Range().Through); err != nil {
			t.Fatal(err)
		}
	}
	change(etcdstore.Put)
	change(etcdstore.Delete)
	deleted := w.writer.Range().Through
	has(true)
	change(etcdstore.Put)
	if err := w.writer.Prune(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	has(true)
	change(etcdstore.Delete)
	prune()
	has(false)
	change(etcdstore.Put)
	has(true)
}

// TestLargeList checks lists that several goroutines read.
func TestLargeList(t *testing.T) {
	const keys = listChunk + 3*listShare
	w := newWorld(t)
	for i := range keys {
		w.keys = append(w.keys, fmt.Sprintf("%smany/%05d", root, i))
		if _, err := w.Create(t.Context(), w.keys[len(w.keys)-1], []byte(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	w.begin()
	w.write(200)
	w.record()
	for _, o := range []etcdstore.ListOptions{{}, {KeysOnly: true}, {Limit: 1}, {Limit: 3 * listShare}, {Limit: listChunk}, {Limit: keys - 1}, {Limit: keys * 2}, {After: root + "many/00100", Limit: 1500}} {
		o.At = w.writer.Range().Through - 100
		want, err := w.List(t.Context(), root, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.journal.List(t.Context(), w.History(), root, o)
		if err != nil {
			t.Fatal(err)
		}
		w.same(fmt.Sprintf("%+v", o), want, got)
	}
}
