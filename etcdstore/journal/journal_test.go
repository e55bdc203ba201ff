package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "/registry/"

// world is a store that keeps all of its history, and a journal of it.
type world struct {
	*memory.Store
	t       *testing.T
	dir     string
	journal *Journal
	writer  *Writer
	random  *rand.Rand
	keys    []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Store: memory.New(), t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // repeatable
	for i := range 40 {
		w.keys = append(w.keys, fmt.Sprintf("%sthings/ns-%d/name-%d", root, i%3, i))
	}
	w.keys = append(w.keys, root+"zero\x00byte", root+"zero", root+"zero\x01", root+"zero\x00")
	w.open()
	t.Cleanup(func() { _ = w.journal.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.journal, err = Open(w.dir, slog.New(slog.DiscardHandler)); err != nil {
		w.t.Fatal(err)
	}
	w.writer = w.journal.Writer(root, WriterOptions{})
}

// reopen opens the journal again, as after a crash of the process.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.journal.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// write makes some changes, also of two keys at one revision and of other keys.
func (w *world) write(n int) {
	w.t.Helper()
	for range n {
		key := w.keys[w.random.IntN(len(w.keys))]
		ops := []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: w.value(key)}}
		switch w.random.IntN(10) {
		case 0:
			ops = []etcdstore.Op{{Verb: etcdstore.Delete, Key: key}}
		case 1:
			ops = append(ops, etcdstore.Op{Verb: etcdstore.Put, Key: key + "-twin", Value: []byte("twin")})
		case 2:
			ops[0].Key = "/elsewhere"
		}
		if _, err := w.Transact(w.t.Context(), etcdstore.Txn{Then: ops}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// value returns a document that resembles the one before.
func (w *world) value(key string) []byte {
	if w.random.IntN(20) == 0 {
		return nil
	}
	out := fmt.Appendf(nil, `{"name":%q,"count":%d,"text":"`, key, w.random.IntN(1000))
	for i := range 60 {
		out = fmt.Appendf(out, "line %d of the text;", i)
		if w.random.IntN(40) == 0 {
			out = fmt.Appendf(out, "changed %d;", w.random.IntN(1e6))
		}
	}
	return append(out, `"}`...)
}

// record adds all events to the journal.
func (w *world) record() {
	w.t.Helper()
	newestRevision, err := w.Revision(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	watch := w.Watch(w.t.Context(), root, etcdstore.WatchOptions{After: w.writer.Range().Through})
	defer watch.Close()
	for w.writer.Range().Through < newestRevision {
		if err := watch.RequestProgress(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		step, err := watch.Next(w.t.Context())
		if err == nil {
			err = w.writer.Append(step)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// begin begins the range, or goes on with it after everything was compacted.
func (w *world) begin() {
	w.t.Helper()
	revision, err := w.Revision(w.t.Context())
	if err == nil {
		err = w.writer.Begin(w.t.Context(), &compacted{Store: w.Store, oldest: revision})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// compare compares lists and events with those of the store.
func (w *world) compare() {
	w.t.Helper()
	r := w.writer.Range()
	for at := r.Oldest; at <= r.Through; at += 1 + etcdstore.Revision(w.random.IntN(5)) {
		o := etcdstore.ListOptions{At: at, Limit: w.random.IntN(2) * 7, KeysOnly: w.random.IntN(4) == 0}
		if w.random.IntN(2) == 0 {
			o.After = w.keys[w.random.IntN(len(w.keys))]
		}
		want, err := w.List(w.t.Context(), root, o)
		if err != nil {
			w.t.Fatal(err)
		}
		got, err := w.journal.List(w.t.Context(), w.History(), root, o)
		switch {
		case errors.Is(err, ErrUnknown) && !r.Has(at):
		case err != nil:
			w.t.Fatalf("revision %d: %v", at, err)
		default:
			w.same(fmt.Sprintf("revision %d, %+v", at, o), want, got)
		}
	}
	w.compareEvents(r.Oldest)
}

// same compares what the store and the journal say. cmp takes seconds for values that are equal.
func (w *world) same(what string, want, got any) {
	w.t.Helper()
	if reflect.DeepEqual(want, got) {
		return
	}
	if diff := cmp.Diff(want, got, emptyValues); diff != "" {
		w.t.Fatalf("%s (-store +journal):\n%s", what, diff)
	}
}

// emptyValues makes values without bytes equal.
var emptyValues = cmp.Transformer("text", func(b []byte) string { return string(b) })

func (w *world) compareEvents(after etcdstore.Revision) {
	w.t.Helper()
	r, from := w.writer.Range(), after
	var want, got []etcdstore.Event
	watch := w.Watch(w.t.Context(), root, etcdstore.WatchOptions{After: after, Previous: true})
	defer watch.Close()
	for through := after; through < r.Through; {
		if err := watch.RequestProgress(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		step, err := watch.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		want, through = append(want, step.Events...), step.Through
	}
	for after < r.Through {
		step, err := w.journal.Events(w.t.Context(), w.History(), root, EventOptions{After: after, Previous: true, Bytes: 3000})
		if err != nil {
			w.t.Fatal(err)
		}
		if step.Through <= after {
			w.t.Fatalf("the step after %d ends at %d", after, step.Through)
		}
		got, after = append(got, step.Events...), step.Through
	}
	w.same("events", want, got)
	for _, key := range w.keys[:5] {
		w.compareKey(key, from, want)
	}
}

// compareKey compares the events of a key with those of all keys.
func (w *world) compareKey(key string, after etcdstore.Revision, all []etcdstore.Event) {
	w.t.Helper()
	var want, got []etcdstore.Event
	for _, e := range all {
		if e.Key == key {
			want = append(want, e)
		}
	}
	for after < w.writer.Range().Through {
		step, err := w.journal.Events(w.t.Context(), w.History(), key, EventOptions{After: after, Exact: true, Previous: true, Bytes: 3000})
		if err != nil {
			w.t.Fatal(err)
		}
		got, after = append(got, step.Events...), step.Through
	}
	w.same("events of "+key, want, got)
}

// TestJournal checks that lists at all revisions, and events, are those of the store, also after the journal was opened again and pruned.
func TestJournal(t *testing.T) {
	w := newWorld(t)
	w.write(50)
	w.begin()
	w.compare()
	for range 4 {
		w.write(200)
		w.record()
		w.compare()
		w.reopen()
		w.compare()
		r := w.writer.Range()
		if err := w.writer.Prune(t.Context(), r.Oldest+(r.Through-r.Oldest)/3); err != nil {
			t.Fatal(err)
		}
		if _, err := w.journal.List(t.Context(), w.History(), root, etcdstore.ListOptions{At: r.Oldest}); !errors.Is(err, ErrUnknown) {
			t.Fatalf("a list at the pruned revision %d: %v", r.Oldest, err)
		}
		w.compare()
	}
	if err := w.writer.Verify(t.Context(), w.Store); err != nil {
		t.Error(err)
	}
}

// TestGap checks that the journal knows what it lacks.
func TestGap(t *testing.T) {
	w := newWorld(t)
	w.write(30)
	w.begin()
	w.write(100)
	w.record()
	before := w.writer.Range()
	w.write(300)
	w.begin()
	after := w.writer.Range()
	if want := []Gap{{before.Through, after.Through}}; !cmp.Equal(after.Gaps, want) {
		t.Fatalf("gaps %v, want %v", after.Gaps, want)
	}
	w.write(100)
	w.record()
	w.compareAround(after.Gaps[0])
	w.reopen()
	w.compareAround(after.Gaps[0])
	for _, oldest := range []etcdstore.Revision{before.Oldest + 10, before.Through + 20, after.Through + 50} {
		if err := w.writer.Prune(t.Context(), oldest); err != nil {
			t.Fatal(err)
		}
		w.compareAround(after.Gaps[0])
	}
	if gaps := w.writer.Range().Gaps; len(gaps) > 0 {
		t.Errorf("gaps after the journal was pruned: %v", gaps)
	}
}

// compareAround compares what is known before and after a gap.
func (w *world) compareAround(gap Gap) {
	w.t.Helper()
	r := w.writer.Range()
	for at := r.Oldest; at <= r.Through; at++ {
		o := etcdstore.ListOptions{At: at}
		got, err := w.journal.List(w.t.Context(), w.History(), root, o)
		if inside := at > gap.After && at < gap.Until; inside != errors.Is(err, ErrUnknown) {
			w.t.Fatalf("list at %d: %v; the gap is %+v", at, err, gap)
		} else if inside {
			continue
		} else if err != nil {
			w.t.Fatalf("list at %d: %v", at, err)
		}
		want, _ := w.List(w.t.Context(), root, o)
		w.same(fmt.Sprint("revision ", at), want, got)
	}
	w.compareEvents(max(gap.Until, r.Oldest))
	if r.Oldest > gap.After {
		return
	}
	step, err := w.journal.Events(w.t.Context(), w.History(), root, EventOptions{After: gap.After - 1, Bytes: 1 << 20})
	if err != nil || step.Through != gap.After {
		w.t.Errorf("events before the gap: through %d (%v), want %d", step.Through, err, gap.After)
	}
	if _, err := w.journal.Events(w.t.Context(), w.History(), root, EventOptions{After: gap.After}); !errors.Is(err, ErrUnknown) {
		w.t.Errorf("events in the gap: %v", err)
	}
}

// TestOtherHistory checks that the events of two histories are never mixed.
func TestOtherHistory(t *testing.T) {
	w := newWorld(t)
	w.write(30)
	w.begin()
	w.write(30)
	w.record()
	restored := newWorld(t)
	restored.random = rand.New(rand.NewPCG(3, 4)) //nolint:gosec // repeatable
	restored.write(100)
	if err := w.writer.Verify(t.Context(), restored.Store); !errors.Is(err, ErrOtherHistory) {
		t.Fatalf("verify: %v, want ErrOtherHistory", err)
	}
	former := w.writer.Range()
	w.Store = restored.Store
	if err := w.writer.BeginAnew(t.Context(), w.Store); err != nil {
		t.Fatal(err)
	}
	w.write(50)
	w.record()
	w.compare()
	w.reopen()
	w.compare()
	ranges := w.journal.Ranges()
	if len(ranges) != 2 || !ranges[0].Former || ranges[0].Through != former.Through {
		t.Fatalf("ranges %+v, want the former one, too", ranges)
	}
	if err := w.journal.Remove(ranges[0]); err != nil {
		t.Fatal(err)
	}
	w.reopen()
	if ranges := w.journal.Ranges(); len(ranges) != 1 {
		t.Errorf("ranges %+v, want one", ranges)
	}
	w.compare()
}

// TestOmit checks that values that are not kept are not on the disk, and that nothing that lacks them is returned.
func TestOmit(t *testing.T) {
	w := newWorld(t)
	w.writer = w.journal.Writer(root, WriterOptions{Omit: func(key string, _ []byte) bool { return key == root+"secret" }})
	w.begin()
	ctx := t.Context()
	if _, err := w.Create(ctx, root+"secret", []byte("password")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(ctx, root+"other", []byte("public")); err != nil {
		t.Fatal(err)
	}
	w.record()
	list := func(prefix string, o etcdstore.ListOptions) error {
		o.At = w.writer.Range().Through
		_, err := w.journal.List(ctx, w.History(), prefix, o)
		return err
	}
	events := func(ctx context.Context, prefix string) error {
		_, err := w.journal.Events(ctx, w.History(), prefix, EventOptions{After: w.writer.Range().Oldest, Bytes: 1 << 20})
		return err
	}
	for what, err := range map[string]error{
		"list of all": list(root, etcdstore.ListOptions{}), "list of one": list(root+"secret", etcdstore.ListOptions{Exact: true}), "events": events(ctx, root),
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, want that it is not known", what, err)
		}
	}
	if err := errors.Join(list(root+"other", etcdstore.ListOptions{}), list(root, etcdstore.ListOptions{KeysOnly: true}), events(ctx, root+"other")); err != nil {
		t.Error(err)
	}
}

// TestFailedAppend checks that events can be added again after an append failed, as a recorder does.
func TestFailedAppend(t *testing.T) {
	w := newWorld(t)
	w.write(30)
	w.begin()
	value := bytes.Repeat([]byte("a line of text;"), 40)
	step := func(n int) etcdstore.Batch {
		at := w.writer.Range().Through + etcdstore.Revision(n)
		kv := &etcdstore.KV{Key: root + "x", Value: append(value, byte('0'+n)), Created: at, Modified: at, Version: 1}
		return etcdstore.Batch{Events: []etcdstore.Event{{Revision: at, Key: kv.Key, KV: kv}}, Through: at}
	}
	if err := w.writer.Append(step(1)); err != nil {
		t.Fatal(err)
	}
	lost := w.journal.db.NewBatch()
	failed := func() (err error) { // all but the commit
		defer w.writer.forgetAfter(&err)
		if err = w.writer.set(lost, root+"x", w.writer.Range().Through+1, step(1).Events[0].KV); err == nil {
			err = errors.New("the disk")
		}
		return errors.Join(err, lost.Close())
	}
	if err := failed(); err == nil {
		t.Fatal("it did not fail")
	}
	want := step(1)
	if err := w.writer.Append(want); err != nil {
		t.Fatal(err)
	}
	page, err := w.journal.List(t.Context(), w.History(), root+"x", etcdstore.ListOptions{At: want.Through, Exact: true})
	if err != nil || len(page.KVs) != 1 || !bytes.Equal(page.KVs[0].Value, want.Events[0].KV.Value) {
		t.Errorf("%v, %v", page.KVs, err)
	}
}
