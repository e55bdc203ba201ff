package journal

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// damages returns what Verify reports.
func (w *world) damages() string {
	w.t.Helper()
	var out []string
	if _, err := w.journal.Verify(w.t.Context(), func(err error) { out = append(out, err.Error()) }, nil); err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

// TestContradictions checks that Verify finds entries that are missing, damaged or too many, and names the key.
func TestContradictions(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(200)
	w.record()
	w.intact()
	r, number := w.writer.Range(), w.writer.current.Number
	step, err := w.journal.Events(t.Context(), w.History(), root, EventOptions{After: r.Oldest + 50, Bytes: 1})
	if err != nil || len(step.Events) == 0 {
		t.Fatalf("%v, %v", step, err)
	}
	changed := step.Events[0]
	name, event := stateKey(number, changed.Key, changed.Revision), eventKey(number, changed.Revision, 0)
	for want, change := range map[string]func(b *pebble.Batch) error{
		"and no state":                            func(b *pebble.Batch) error { return b.Delete(name, nil) },
		"and no event":                            func(b *pebble.Batch) error { return b.Delete(event, nil) },
		"is not in the index of keys":             func(b *pebble.Batch) error { return b.Delete(indexKey(number, changed.Key), nil) },
		"an entry of the journal is damaged":      func(b *pebble.Batch) error { return b.Set(name, nil, nil) },
		"does not fit the value before it":        func(b *pebble.Batch) error { return addBadDelta(b, number) },
		"it is a difference to a state that is m": func(b *pebble.Batch) error { return b.Set(name, entry{depth: 20, created: 1}.encode(), nil) },
		"which has no state that can be read":     func(b *pebble.Batch) error { return b.Set(indexKey(number, root+"none"), nil, nil) },
		"which is outside of the range": func(b *pebble.Batch) error {
			return b.Set(eventKey(number, r.Through+5, 0), eventValue(changed.Key, time.Now()), nil)
		},
		"the range ends at": func(b *pebble.Batch) error { return b.Set(timeKey(number, time.Now(), r.Through+5), nil, nil) },
		"two events of revision": func(b *pebble.Batch) error {
			return b.Set(eventKey(number, changed.Revision, 7), eventValue(changed.Key, time.Now()), nil)
		},
	} {
		b := w.journal.db.NewIndexedBatch()
		before := w.saved()
		if err := change(b); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if got := w.damages(); !strings.Contains(got, want) || !strings.Contains(got, root) && want != "the range ends at" {
			t.Errorf("%s: verify reports %q", want, got)
		}
		w.restore(before)
		w.intact()
	}
}

func addBadDelta(b *pebble.Batch, number uint32) error {
	key := root + "bad"
	for revision, e := range map[etcdstore.Revision]entry{3: {created: 3, value: []byte("v")}, 4: {created: 3, depth: 1, value: []byte{200, 1, 9}}} {
		if err := b.Set(stateKey(number, key, revision), e.encode(), nil); err != nil {
			return err
		}
	}
	return b.Set(indexKey(number, key), nil, nil)
}

// saved returns all entries of the database.
func (w *world) saved() map[string][]byte {
	w.t.Helper()
	it, err := w.journal.db.NewIter(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = it.Close() }()
	out := map[string][]byte{}
	for ok := it.First(); ok; ok = it.Next() {
		out[string(it.Key())] = bytes.Clone(it.Value())
	}
	return out
}

func (w *world) restore(entries map[string][]byte) {
	w.t.Helper()
	b := w.journal.db.NewBatch()
	if err := b.DeleteRange([]byte{0}, []byte{0xff}, nil); err != nil {
		w.t.Fatal(err)
	}
	for key, value := range entries {
		if err := b.Set([]byte(key), value, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		w.t.Fatal(err)
	}
}

// TestDamagedFile checks that Verify names a key whose states are in a part of a file that is damaged.
func TestDamagedFile(t *testing.T) {
	w := newWorld(t)
	w.begin()
	for range 5 {
		w.write(300)
		w.record()
	}
	if err := w.journal.db.Compact(t.Context(), []byte{0}, []byte{0xff}, true); err != nil {
		t.Fatal(err)
	}
	w.intact()
	if err := w.journal.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(w.dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	largest := []byte(nil)
	for _, name := range tables {
		content, failed := os.ReadFile(name)
		if failed != nil {
			t.Fatal(failed)
		}
		if len(content) > len(largest) {
			largest, tables[0] = content, name
		}
	}
	largest[len(largest)/3] ^= 0x40
	if err = os.WriteFile(tables[0], largest, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.journal, err = OpenExisting(w.dir, slog.New(slog.DiscardHandler), ReadOnly); err != nil {
		t.Fatal(err)
	}
	if got := w.damages(); !strings.Contains(got, "checksum mismatch") || !strings.Contains(got, root+"things/") {
		t.Errorf("verify reports %q, want a key", got)
	}
}
