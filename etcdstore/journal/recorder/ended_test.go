package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/memory"
)

const (
	configMaps = root + "configmaps/"
	eventKeys  = root + "events/"
)

// recording is a store that is recorded with options that change.
type recording struct {
	*memory.Store
	t        *testing.T
	dir      string
	except   []string // of what is recorded
	recorder *Recorder
	reader   etcdstore.Store // with the journal
	stop     func()
	all      []etcdstore.Event // of the store
}

// start records some prefixes.
func (r *recording) start(prefixes ...string) {
	r.t.Helper()
	if r.stop != nil {
		r.stop()
	}
	j, err := journal.Open(r.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	r.recorder = New(j, Config{Store: r.Store, Prefixes: prefixes, Except: r.except, Logger: slog.New(slog.DiscardHandler)})
	r.reader = NewStore(r.Store, r.recorder)
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.recorder.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := j.Close(); err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(r.stop)
}

// write changes ConfigMaps and Events, and waits until what is recorded of them is in the journal. It returns the last revision.
func (r *recording) write() (last etcdstore.Revision) {
	r.t.Helper()
	for i := range 10 {
		for _, prefix := range []string{eventKeys, configMaps} {
			key, value := fmt.Sprint(prefix, "default/", i%3), fmt.Appendf(nil, "%s %d", r.t.Name(), i)
			last = put(r.t, r.Store, key, string(value))
			r.all = append(r.all, etcdstore.Event{Revision: last, Key: key, KV: &etcdstore.KV{Value: value}})
		}
	}
	for _, prefix := range []string{eventKeys, configMaps} {
		if r.recorder.Records(prefix) {
			r.await(prefix, last)
		}
	}
	return last
}

// await waits until the journal has a revision of a prefix.
func (r *recording) await(prefix string, revision etcdstore.Revision) {
	r.t.Helper()
	for known := (journal.Range{}); known.Through < revision; known, _ = r.recorder.RangeOf(prefix) {
		if err := r.recorder.Await(r.t.Context(), prefix, revision); err != nil {
			r.t.Fatal(err)
		}
	}
}

// knows reports whether the state and the events at a revision are known. What is known must be what the store had.
func (r *recording) knows(prefix string, at etcdstore.Revision) bool {
	r.t.Helper()
	want := make(map[string][]byte)
	for _, e := range r.all {
		if e.Revision <= at && len(e.Key) > len(prefix) && e.Key[:len(prefix)] == prefix {
			want[e.Key] = e.KV.Value
		}
	}
	page, err := r.reader.List(r.t.Context(), prefix, etcdstore.ListOptions{At: at})
	if isCompacted(err) {
		return false
	}
	if err != nil {
		r.t.Fatal(err)
	}
	got := make(map[string][]byte)
	for _, kv := range page.KVs {
		got[kv.Key] = kv.Value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("%s at %d (-store +journal):\n%s", prefix, at, diff)
	}
	return true
}

// watched returns the revisions of the events after one, and whether the watch reached the last one without a gap.
func (r *recording) watched(prefix string, after, through etcdstore.Revision) (out []etcdstore.Revision, whole bool) {
	r.t.Helper()
	w := r.reader.Watch(r.t.Context(), prefix, etcdstore.WatchOptions{After: after})
	defer func() { _ = w.Close() }()
	for {
		step, err := w.Next(r.t.Context())
		if isCompacted(err) {
			return out, false
		}
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range step.Events {
			out = append(out, e.Revision)
		}
		if step.Through >= through {
			return out, true
		}
	}
}

// TestChangedPrefixes checks restarts with fewer and with more prefixes: what is recorded all the time has no gap, and the rest ends and begins.
func TestChangedPrefixes(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir()}
	put(t, r.Store, root+"other", "x") // revision 2, with which the range begins at the latest
	r.start(root)
	r.await(root, 2)
	first, _ := r.recorder.RangeOf(root)
	one := r.write()
	r.start(configMaps)
	two := r.write()
	wide, _ := r.recorder.RangeOf(eventKeys)
	if wide.Through < one || wide.Through >= two || len(wide.Gaps) > 0 {
		t.Errorf("the events: %+v, want them to end at %d", wide, one)
	}
	r.start(root)
	three := r.write()
	if err := r.Compact(three); err != nil {
		t.Fatal(err)
	}
	for at := first.Oldest; at < three; at++ {
		if !r.knows(configMaps, at) {
			t.Errorf("the ConfigMaps are not known at %d", at)
		}
		if got, want := r.knows(eventKeys, at), at <= wide.Through || at >= two; got != want {
			t.Errorf("the Events are known at %d: %t, want %t", at, got, want)
		}
	}
	if got, whole := r.watched(configMaps, first.Oldest, three); !whole || len(got) != 30 {
		t.Errorf("the watch of ConfigMaps: %v (%t), want 30 events", got, whole)
	}
	if got, whole := r.watched(eventKeys, first.Oldest, three); whole || len(got) != 10 {
		t.Errorf("the watch of Events: %v (%t), want 10, and a gap", got, whole)
	}
	if known, ok := r.recorder.RangeOf(configMaps); !ok || known.Oldest != first.Oldest || known.Through < three || len(known.Gaps) > 0 {
		t.Errorf("the ConfigMaps: %+v", known)
	}
	if known, _ := r.recorder.RangeOf(eventKeys); known.Oldest != first.Oldest || len(known.Gaps) != 1 || known.Gaps[0].After != wide.Through || known.Gaps[0].Until < two {
		t.Errorf("the Events: %+v", known)
	}
	if revision, _, ok, err := r.recorder.At(configMaps, time.Now()); err != nil || !ok || revision != three {
		t.Errorf("the ConfigMaps now: %d, %t, %v", revision, ok, err)
	}
	r.checkExport()
}

// checkExport checks that an import of an export is equal.
func (r *recording) checkExport() {
	r.t.Helper()
	var before, after bytes.Buffer
	if _, err := r.recorder.journal.Export(r.t.Context(), &before, nil); err != nil {
		r.t.Fatal(err)
	}
	dir := r.t.TempDir() + "/imported"
	if _, err := journal.Import(r.t.Context(), dir, bytes.NewReader(before.Bytes()), slog.New(slog.DiscardHandler), nil); err != nil {
		r.t.Fatal(err)
	}
	j, err := journal.OpenExisting(dir, slog.New(slog.DiscardHandler), journal.ReadOnly)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = j.Export(r.t.Context(), &after, nil)
	if err = errors.Join(err, j.Close()); err != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
		r.t.Errorf("the second export differs (%v)", err)
	}
}

// TestEndedRangeOfOtherHistory checks that a range of another history is not read after its prefix is no longer recorded.
func TestEndedRangeOfOtherHistory(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir()}
	r.start(root)
	one := r.write()
	r.stop()
	r.Store, r.all = memory.New(), nil
	for _, value := range []string{"another history", "after it"} { // the recorder begins after the first one
		last := put(t, r.Store, configMaps+"default/0", value)
		r.all = append(r.all, etcdstore.Event{Revision: last, Key: configMaps + "default/0", KV: &etcdstore.KV{Value: []byte(value)}})
	}
	for range 3 {
		r.start(configMaps)
		r.write()
	}
	if err := r.Compact(one); err != nil {
		t.Fatal(err)
	}
	if r.knows(eventKeys, one-5) || r.knows(configMaps, r.all[0].Revision) {
		t.Error("the range is read")
	}
}
