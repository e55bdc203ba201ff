package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"revtail/etcdstore"
	"revtail/etcdstore/archive"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/memory"
)

// prefixes are those that are recorded: the state of the second one is known to an earlier revision.
var prefixes = []string{"/app/", "/registry/"}

// history is a store, and an export of the journal of it.
type history struct {
	*memory.Store
	export string
}

func write(t *testing.T, s *memory.Store, key, value string) {
	t.Helper()
	op := etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: []byte(value)}
	if value == "" {
		op = etcdstore.Op{Verb: etcdstore.Delete, Key: key}
	}
	if _, err := s.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{op}}); err != nil {
		t.Fatal(err)
	}
}

func newHistory(t *testing.T) history {
	t.Helper()
	h := history{memory.New(), filepath.Join(t.TempDir(), "history.ndjson.zst")}
	for i := range 40 {
		write(t, h.Store, fmt.Sprintf("%sk%d", prefixes[i%2], i%6), fmt.Sprint("first ", i))
	}
	j, err := journal.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	var writers []*journal.Writer
	for _, prefix := range prefixes {
		w := j.Writer(prefix, journal.WriterOptions{Omit: func(key string, _ []byte) bool { return key == "/registry/secrets/s" }})
		if err := w.Begin(t.Context(), h.Store); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	began, err := h.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		value := fmt.Sprint("second ", i)
		if i%7 == 0 {
			value = ""
		}
		write(t, h.Store, fmt.Sprintf("%sk%d", prefixes[i%2], i%10), value)
	}
	write(t, h.Store, "/registry/secrets/s", "hidden")
	for i, w := range writers {
		record(t, h.Store, w, prefixes[i], began)
	}
	writeExport(t, j, h.export)
	return h
}

// record adds all events after a revision.
func record(t *testing.T, s *memory.Store, w *journal.Writer, prefix string, after etcdstore.Revision) {
	t.Helper()
	step, err := s.Watch(t.Context(), prefix, etcdstore.WatchOptions{After: after}).Next(t.Context())
	if err == nil {
		err = w.Append(step)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeExport(t *testing.T, j *journal.Journal, name string) {
	t.Helper()
	var out bytes.Buffer
	compressed, err := archive.Compress(&out, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = j.Export(t.Context(), compressed, nil); err == nil {
		err = errors.Join(compressed.Close(), os.WriteFile(name, out.Bytes(), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *archive.Store {
	t.Helper()
	if !archive.Recognizes(path) {
		t.Fatalf("%s is not recognized", path)
	}
	s, err := archive.Open(t.Context(), path, archive.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// withoutOmitted removes the values that the journal does not keep.
func withoutOmitted(kvs []etcdstore.KV) []etcdstore.KV {
	for i := range kvs {
		if kvs[i].Key == "/registry/secrets/s" {
			kvs[i].Value = nil
		}
	}
	return kvs
}

// TestLists compares lists of one prefix and of both, whole and in pages, at each revision with those of the store.
func TestLists(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := newHistory(t)
	s := open(t, h.export)
	info := s.Info()
	for at := info.Oldest; at <= info.Newest; at++ {
		for _, o := range []etcdstore.ListOptions{{}, {KeysOnly: true}, {Limit: 3}, {Limit: 3, After: "/app/k4"}, {After: "/registry/k1"}} {
			for _, prefix := range []string{"/", "/app/", "/registry/", "/registry/k1"} {
				o.At = at
				want, err := h.List(t.Context(), prefix, o)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.List(t.Context(), prefix, o)
				if err != nil {
					t.Fatalf("%s %+v: %v", prefix, o, err)
				}
				want.KVs = withoutOmitted(want.KVs)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s %+v: -want +got\n%s", prefix, o, diff)
				}
			}
		}
	}
	if _, err := s.List(t.Context(), "/app/", etcdstore.ListOptions{At: info.Oldest - 1}); !errors.As(err, new(*etcdstore.CompactedError)) {
		t.Errorf("a list before the oldest revision: %v", err)
	}
	if _, err := s.List(t.Context(), "/app/", etcdstore.ListOptions{At: info.Newest + 1}); !errors.As(err, new(*etcdstore.FutureError)) {
		t.Errorf("a list after the newest revision: %v", err)
	}
	if _, err := s.Create(t.Context(), "/app/new", nil); !errors.Is(err, archive.ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	all, err := h.List(t.Context(), "/", etcdstore.ListOptions{})
	if err != nil || int64(len(all.KVs)) != info.Keys || !slices.Equal(info.Lagging, []string{"/app/"}) {
		t.Errorf("%d keys are counted, and %v lag; want %d and /app/: %v", info.Keys, info.Lagging, len(all.KVs), err)
	}
}

// TestWatch compares the events of both prefixes with those of the store, and waits for progress at the end.
func TestWatch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := newHistory(t)
	s := open(t, h.export)
	for _, prefix := range []string{"/", "/app/", "/registry/"} {
		o := etcdstore.WatchOptions{After: s.Info().Oldest + 1, Previous: true}
		want, err := h.Watch(t.Context(), prefix, o).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w := s.Watch(t.Context(), prefix, o)
		var got []etcdstore.Event
		for through := o.After; through < s.Info().Newest; {
			step, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, through = append(got, step.Events...), step.Through
		}
		for i := range want.Events {
			if kv := want.Events[i].KV; kv != nil && kv.Key == "/registry/secrets/s" {
				kv.Value = nil
			}
		}
		if diff := cmp.Diff(want.Events, got, cmpopts.IgnoreFields(etcdstore.Event{}, "Received")); diff != "" {
			t.Errorf("%s: -want +got\n%s", prefix, diff)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: at the end: %v", prefix, err)
		}
		if err := w.RequestProgress(t.Context()); err != nil {
			t.Fatal(err)
		}
		if step, err := w.Next(t.Context()); err != nil || step.Through != s.Info().Newest {
			t.Errorf("%s: the progress is %+v, %v", prefix, step, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestChangedPrefix checks that a journal that has some keys in an ended range and in a later one has each of them once, and the history of both ranges.
func TestChangedPrefix(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const wide, narrow = "/registry/", "/registry/configmaps/"
	s := memory.New()
	write(t, s, wide+"secrets/s", "1")
	write(t, s, narrow+"a", "1")
	j, err := journal.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	for i, prefix := range []string{wide, narrow} {
		w := j.Writer(prefix, journal.WriterOptions{})
		if err := w.Begin(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		write(t, s, narrow+"a", fmt.Sprint(prefix))
		record(t, s, w, prefix, w.Range().Through)
		if i == 0 {
			if err := w.End(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	export := filepath.Join(t.TempDir(), "history.ndjson")
	writeExport(t, j, export)
	opened := open(t, export)
	for at, want := range map[etcdstore.Revision]string{0: narrow, opened.Info().Newest - 1: wide} {
		page, err := opened.List(t.Context(), wide, etcdstore.ListOptions{At: at})
		if err != nil || len(page.KVs) != 1 || string(page.KVs[0].Value) != want {
			t.Errorf("at %d: %v, %v; want one key with %q", at, page.KVs, err, want)
		}
	}
	if known, ok := opened.RangeOf(narrow); !ok || known.Oldest != 3 || len(known.Gaps) > 0 {
		t.Errorf("the narrow prefix: %+v", known)
	}
	if known, ok := opened.RangeOf(wide + "secrets/"); !ok || known.Through != 4 {
		t.Errorf("the keys that are no longer recorded: %+v", known)
	}
}

// TestTemporary checks that the directory of an import is removed, also after an error, and that of a process that was killed.
func TestTemporary(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	h := newHistory(t)
	cut := filepath.Join(t.TempDir(), "cut.ndjson")
	if err := os.WriteFile(cut, []byte(`{"format":"revtail.journal/v1"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Open(t.Context(), cut, archive.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("an export that is cut off was opened")
	}
	abandoned := filepath.Join(temporary, "revtail-open-1")
	if err := os.MkdirAll(filepath.Join(abandoned, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(h.export)
	if err == nil {
		past := info.ModTime().Add(-1e12)
		err = os.Chtimes(abandoned, past, past)
	}
	if err != nil {
		t.Fatal(err)
	}
	first, second := open(t, h.export), open(t, h.export)
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
