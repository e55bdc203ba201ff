package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// export returns the lines of the journal.
func (w *world) export() []byte {
	w.t.Helper()
	var out bytes.Buffer
	if _, err := w.journal.Export(w.t.Context(), &out, nil); err != nil {
		w.t.Fatal(err)
	}
	return out.Bytes()
}

// intact checks that Verify reports nothing.
func (w *world) intact() {
	w.t.Helper()
	sum, err := w.journal.Verify(w.t.Context(), func(err error) { w.t.Errorf("verify: %v", err) }, nil)
	if err != nil || sum.States == 0 {
		w.t.Errorf("verify: %+v, %v", sum, err)
	}
}

// moved continues with a journal that is made of an export of the present one.
func (w *world) moved() {
	w.t.Helper()
	exported := w.export()
	dir := filepath.Join(w.t.TempDir(), "new", "journal")
	if _, err := Import(w.t.Context(), dir, bytes.NewReader(exported), slog.New(slog.DiscardHandler), nil); err != nil {
		w.t.Fatal(err)
	}
	before := w.times()
	if err := w.journal.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.dir = dir
	w.open()
	w.same("times", before, w.times())
	if again := w.export(); !bytes.Equal(exported, again) {
		w.t.Error("the export of the imported journal differs")
	}
}

// times returns what is known of the time of each event, and of the times around them.
func (w *world) times() (out []string) {
	w.t.Helper()
	r := w.writer.Range()
	for e, err := range w.journal.index(r.Number, 0, newest-1) {
		if err != nil {
			w.t.Fatal(err)
		}
		for _, at := range []time.Time{e.arrived.Add(-time.Millisecond), e.arrived} {
			revision, arrived, ok, err := w.journal.At(r, at)
			if err != nil {
				w.t.Fatal(err)
			}
			if ok {
				out = append(out, at.String(), arrived.String(), string(rune(revision)))
			}
		}
	}
	return out
}

// TestExport checks that a journal of an export equals the one before: lists at all revisions, events and times; also after a gap, a prune and another
// history, and that it is written on.
func TestExport(t *testing.T) {
	w := newWorld(t)
	w.keys = append(w.keys, root+"not\xffUTF-8")
	w.write(50)
	w.begin()
	w.moved()
	w.compare()
	for range 2 {
		w.write(150)
		w.record()
		w.intact()
		w.moved()
		w.compare()
		w.intact()
	}
	w.write(100)
	w.begin() // a gap
	w.write(150)
	w.record()
	gap := w.writer.Range().Gaps[0]
	w.moved()
	w.intact()
	w.compareAround(gap)
	for _, oldest := range []etcdstore.Revision{gap.After - 20, gap.Until + 30} {
		if _, err := w.journal.Prune(t.Context(), PruneOptions{Revision: oldest}, nil); err != nil {
			t.Fatal(err)
		}
		w.reopen()
		w.intact()
		w.compareAround(gap)
		w.moved()
		w.intact()
		w.compareAround(gap)
	}
	if err := w.writer.BeginAnew(t.Context(), w.Store); err != nil {
		t.Fatal(err)
	}
	w.write(50)
	w.record()
	w.moved()
	w.compare()
	w.intact()
	if ranges := w.journal.Ranges(); len(ranges) != 2 || !ranges[0].Former {
		t.Errorf("ranges %+v, want the former one, too", ranges)
	}
}

// TestPruneBefore checks that Prune deletes by time, and removes former histories that have ended.
func TestPruneBefore(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(100)
	w.record()
	if err := w.writer.BeginAnew(t.Context(), w.Store); err != nil {
		t.Fatal(err)
	}
	w.write(100)
	w.record()
	if pruned, err := w.journal.Prune(t.Context(), PruneOptions{Before: time.Now().Add(-time.Hour)}, nil); err != nil || pruned[0].Removed || pruned[1].Is.Oldest != pruned[1].Was.Oldest {
		t.Fatalf("before the journal: %+v, %v", pruned, err)
	}
	through := w.writer.Range().Through
	if _, err := w.journal.Prune(t.Context(), PruneOptions{Revision: through + 1}, nil); err == nil || !strings.Contains(err.Error(), "want") {
		t.Errorf("a revision that has not arrived: %v", err)
	}
	pruned, err := w.journal.Prune(t.Context(), PruneOptions{Before: time.Now().Add(time.Hour)}, nil)
	if err != nil || !pruned[0].Removed || pruned[1].Is.Oldest <= pruned[1].Was.Oldest {
		t.Fatalf("after the journal: %+v, %v", pruned, err)
	}
	w.reopen()
	w.compare()
	w.intact()
}

// TestBadImports checks that an import refuses what no export has, and leaves nothing behind.
func TestBadImports(t *testing.T) {
	w := newWorld(t)
	w.write(20)
	w.begin()
	w.write(30)
	w.record()
	good := strings.SplitAfter(string(w.export()), "\n")
	event := len(good) - 3 // the last but one
	with := func(at int, text string) string {
		changed := append([]string(nil), good...)
		changed[at] = text
		return strings.Join(changed, "")
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "cut off"},
		"another file":  {"{}\n", "line 1: want an export of a journal"},
		"not JSON":      {"PK\x03\x04\n", "line 1: "},
		"cut off":       {strings.Join(good[:event], ""), "cut off"},
		"half a line":   {strings.Join(good[:event], "") + good[event][:20], "unexpected EOF"},
		"a line less":   {with(event, ""), "lines are missing"},
		"a line twice":  {with(event, good[event]+good[event]), "two events of revision"},
		"order":         {with(event, good[event+1-2]), "want"},
		"no range":      {with(1, ""), "want a range before"},
		"unknown field": {with(event, `{"event":{"revision":1,"extra":2}}`+"\n"), `unknown field "extra"`},
		"other prefix":  {with(event, `{"event":{"revision":`+"51"+`,"at":"2026-11-28T05:20:00.000Z","key":"/other"}}`+"\n"), "want"},
		"time":          {with(event, `{"event":{"revision":50,"at":"yesterday","key":"/registry/a"}}`+"\n"), `at "yesterday": want a time`},
		"no key":        {with(event, `{"event":{"revision":50,"at":"2026-11-28T05:20:00.000Z"}}`+"\n"), "want a key"},
		"after the end": {strings.Join(good, "") + good[event], "want nothing after the end"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, err := Import(t.Context(), filepath.Join(parent, "journal"), strings.NewReader(c.text), slog.New(slog.DiscardHandler), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
	if _, err := Import(t.Context(), w.dir, strings.NewReader(strings.Join(good, "")), slog.New(slog.DiscardHandler), nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("into a directory with files: %v", err)
	}
}

// importDir is the variable that names the directory of the import that is killed.
const importDir = "JOURNAL_TEST_IMPORT_DIR"

// TestKilledImport checks that after an import was killed, nothing opens.
func TestKilledImport(t *testing.T) {
	if dir := os.Getenv(importDir); dir != "" {
		_, err := Import(t.Context(), dir, os.Stdin, slog.New(slog.DiscardHandler), nil)
		t.Fatalf("the import ended: %v", err)
	}
	w := newWorld(t)
	w.write(20)
	w.begin()
	w.write(30)
	w.record()
	exported := w.export()
	dir := filepath.Join(t.TempDir(), "journal")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledImport$")
	child.Env = append(os.Environ(), importDir+"="+dir)
	input, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err == nil {
		_, err = input.Write(exported[:len(exported)-10]) // it waits for the rest
	}
	for err == nil {
		if _, absent := os.Stat(filepath.Join(dir+importSuffix, "LOCK")); absent == nil {
			break
		}
		<-time.After(5 * time.Millisecond)
		err = t.Context().Err()
	}
	logger := slog.New(slog.DiscardHandler)
	if _, running := Import(t.Context(), dir, bytes.NewReader(exported), logger, nil); running == nil || !strings.Contains(running.Error(), "wait until it ends") {
		t.Errorf("an import while another one runs: %v", running)
	}
	if err = errors.Join(err, child.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	if _, err := OpenExisting(dir, logger, ReadOnly); err == nil || !strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("the directory: %v", err)
	}
	if _, err := Open(dir+importSuffix, logger); !errors.Is(err, ErrIncomplete) {
		t.Errorf("the temporary directory: %v", err)
	}
	for _, marked := range []string{incompleteFile, completeFile} { // killed before, or while the directory gets its name
		if err := os.Rename(filepath.Join(dir+importSuffix, incompleteFile), filepath.Join(dir+importSuffix, marked)); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(t.Context(), dir, bytes.NewReader(exported), logger, nil); err != nil {
			t.Errorf("another import: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, marked)); err == nil {
			t.Errorf("%s is left", marked)
		}
		if err := os.Rename(dir, dir+importSuffix); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir+importSuffix, incompleteFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir+importSuffix, incompleteFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), dir, bytes.NewReader(exported), logger, nil); err == nil || !strings.Contains(err.Error(), "none of an import") {
		t.Errorf("a journal of that name: %v", err)
	}
}

// TestOpenExisting checks the errors for directories that are no journal.
func TestOpenExisting(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	if _, err := OpenExisting(t.TempDir(), logger, ReadOnly); !errors.Is(err, ErrNoJournal) {
		t.Errorf("empty: %v", err)
	}
	other := t.TempDir()
	db, err := pebble.Open(other, &pebble.Options{Logger: databaseLogger{logger}})
	if err == nil {
		err = errors.Join(db.Set([]byte("zone"), nil, pebble.Sync), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, access := range []Access{ReadOnly, ReadWrite} {
		if _, err := OpenExisting(other, logger, access); !errors.Is(err, ErrNoJournal) {
			t.Errorf("of another program: %v", err)
		}
	}
}

// TestCancelledExport checks that an export and a verification end with their context.
func TestCancelledExport(t *testing.T) {
	w := newWorld(t)
	w.write(20)
	w.begin()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.journal.Export(ctx, io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("export: %v", err)
	}
	if _, err := w.journal.Verify(ctx, func(error) {}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("verify: %v", err)
	}
	if _, err := Import(ctx, filepath.Join(t.TempDir(), "new"), bytes.NewReader(w.export()), slog.New(slog.DiscardHandler), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("import: %v", err)
	}
}
