package journal

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestFindOfAKeyWithoutStates checks that the search for a state of a key that has none does not read what was deleted of the keys before it: for each
// of a million keys it would be more than the state itself.
func TestFindOfAKeyWithoutStates(t *testing.T) {
	const keys = 1000
	w := newWorld(t)
	w.begin()
	number := w.writer.Range().Number
	for _, change := range []func(b *pebble.Batch, key []byte) error{
		func(b *pebble.Batch, key []byte) error { return b.Set(key, entry{deleted: true}.encode(), nil) },
		func(b *pebble.Batch, key []byte) error { return b.Delete(key, nil) },
	} {
		b := w.journal.db.NewBatch()
		for i := range keys {
			if err := change(b, stateKey(number, fmt.Sprintf("%sdeleted/%04d", root, i), newest)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.journal.newReader(number)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if f, err := r.find(root+"deleted/9", newest); f != nil || err != nil {
		t.Fatalf("%+v, %v, want neither a state nor an error", f, err)
	}
	stats := r.states.Stats()
	if steps := stats.ReverseStepCount[pebble.InternalIterCall]; steps > 10 {
		t.Errorf("the search takes %d steps, past %d deleted states", steps, keys)
	}
}
