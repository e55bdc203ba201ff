package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/memory"
)

// TestExportWhileRecording checks that an export is as of one moment, while events are added and pruned.
func TestExportWhileRecording(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir()}
	r.start(root)
	r.write()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			r.Txn(map[string][]byte{fmt.Sprint(configMaps, "default/", i%7): fmt.Appendf(nil, "written meanwhile %d", i)}, nil)
			<-time.After(time.Millisecond) // the store keeps all of it
		}
	})
	for i := range 5 {
		var text bytes.Buffer
		sum, err := r.recorder.Export(t.Context(), &text)
		if err != nil {
			t.Fatal(err)
		}
		r.checkImported(t, filepath.Join(t.TempDir(), fmt.Sprint(i)), &text, sum)
	}
	cancel()
	running.Wait()
}

// checkImported imports an export, and compares lists with those of the store.
func (r *recording) checkImported(t *testing.T, dir string, text io.Reader, want journal.Summary) {
	t.Helper()
	got, err := journal.Import(t.Context(), dir, text, slog.New(slog.DiscardHandler), nil)
	if err != nil || got != want {
		t.Fatalf("imported %+v of %+v: %v", got, want, err)
	}
	j, err := journal.OpenExisting(dir, slog.New(slog.DiscardHandler), journal.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = j.Verify(t.Context(), func(err error) { t.Error(err) }, nil); err != nil {
		t.Error(err)
	}
	for _, known := range j.Ranges() {
		for at := known.Oldest; at <= known.Through; at += max(1, (known.Through-known.Oldest)/10) {
			want, failed := r.List(t.Context(), root, etcdstore.ListOptions{At: at})
			got, wrong := j.List(t.Context(), r.History(), root, etcdstore.ListOptions{At: at})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || errors.Join(failed, wrong) != nil {
				t.Errorf("at %d (-store +copy):\n%s (%v)", at, diff, errors.Join(failed, wrong))
			}
		}
	}
	if err = j.Close(); err != nil {
		t.Error(err)
	}
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestExports checks that one export runs at a time, and that it ends with the journal.
func TestExports(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir()}
	waiting := New(nil, Config{Prefixes: []string{root}})
	if _, err := waiting.Export(t.Context(), io.Discard); !errors.Is(err, journal.ErrNotOpen) {
		t.Errorf("without a journal: %v", err)
	}
	r.start(root)
	r.write()
	asked := false
	_, err := r.recorder.Export(t.Context(), writerFunc(func(p []byte) (int, error) {
		asked = true
		if _, err := r.recorder.Export(t.Context(), io.Discard); !errors.Is(err, journal.ErrExporting) {
			t.Errorf("a second one: %v", err)
		}
		return len(p), nil
	}))
	if err != nil || !asked {
		t.Error(err)
	}
	gone := errors.New("the client has left")
	if _, err := r.recorder.Export(t.Context(), writerFunc(func([]byte) (int, error) { return 0, gone })); !errors.Is(err, gone) {
		t.Errorf("a client that leaves: %v", err)
	}
	r.stop()
	if _, err := r.recorder.Export(t.Context(), io.Discard); !errors.Is(err, journal.ErrNotOpen) {
		t.Errorf("of a closed journal: %v", err)
	}
}
