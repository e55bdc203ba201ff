package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/memory"
)

// restorable is an etcd whose files can be replaced: all watches end then, and the id of the cluster stays.
type restorable struct {
	etcdstore.Store // for writes

	mu    sync.Mutex // guards the fields below
	now   *memory.Store
	ctx   context.Context //nolint:containedctx // of the watches of now
	close context.CancelFunc
}

func newRestorable(t *testing.T, now *memory.Store) *restorable {
	t.Helper()
	s := &restorable{Store: now}
	s.restore(t, now)
	return s
}

func (s *restorable) restore(t *testing.T, now *memory.Store) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.close != nil {
		s.close()
	}
	s.now = now
	s.ctx, s.close = context.WithCancel(t.Context())
}

func (s *restorable) current() (*memory.Store, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.ctx
}

// Revision implements etcdstore.Store.
func (s *restorable) Revision(ctx context.Context) (etcdstore.Revision, error) {
	now, _ := s.current()
	return now.Revision(ctx)
}

// List implements etcdstore.Store.
func (s *restorable) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	now, _ := s.current()
	return now.List(ctx, prefix, o)
}

// History implements etcdstore.Store.
func (s *restorable) History() uint64 {
	now, _ := s.current()
	return now.History()
}

// Watch implements etcdstore.Store.
func (s *restorable) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	now, open := s.current()
	ctx, cancel := context.WithCancel(ctx)
	return &cuttable{Watcher: now.Watch(ctx, prefix, o), stop: context.AfterFunc(open, cancel), cancel: cancel, etcd: open}
}

// cuttable is a watch that ends when the files of the etcd are replaced.
type cuttable struct {
	etcdstore.Watcher
	stop   func() bool
	cancel context.CancelFunc
	etcd   context.Context //nolint:containedctx // that of its store
}

func (w *cuttable) Next(ctx context.Context) (etcdstore.Batch, error) {
	step, err := w.Watcher.Next(ctx)
	if err != nil && w.etcd.Err() != nil {
		err = etcdstore.ErrUnavailable
	}
	return step, err
}

func (w *cuttable) Close() error {
	w.stop()
	w.cancel()
	return w.Watcher.Close()
}

// fullDisk is a recorder whose disk can be full.
type fullDisk struct {
	t        *testing.T
	etcd     *restorable
	recorder *Recorder
	store    *Store
	full     atomic.Bool
}

func newFullDisk(t *testing.T, etcd *restorable) *fullDisk {
	t.Helper()
	j, err := journal.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d := &fullDisk{t: t, etcd: etcd}
	d.recorder = New(j, Config{Store: etcd, Prefixes: []string{root}, Logger: slog.New(slog.DiscardHandler)})
	d.recorder.room.free = func() (uint64, bool) {
		if d.full.Load() {
			return 0, true
		}
		return 2 * journal.Reserve, true
	}
	d.store = NewStore(etcd, d.recorder)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.recorder.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill makes the disk full, or gives it room again, and has the journal look at once.
func (d *fullDisk) fill(full bool) {
	d.full.Store(full)
	d.recorder.room.looked.Store(0)
}

func (d *fullDisk) await(what string, done func() bool) {
	d.t.Helper()
	for !done() {
		select {
		case <-d.t.Context().Done():
			d.t.Fatal(what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// value returns the value of a key at a revision that etcd has compacted.
func (d *fullDisk) value(at etcdstore.Revision) (string, error) {
	page, err := d.store.List(d.t.Context(), root+"a", etcdstore.ListOptions{At: at, Exact: true})
	if err != nil || len(page.KVs) == 0 {
		return "", err
	}
	return string(page.KVs[0].Value), nil
}

// TestFullDiskAndRestore checks that states of a history that etcd has lost are not returned while the disk is full, that those of the present history
// are, and that histories are not mixed when there is room again.
func TestFullDiskAndRestore(t *testing.T) {
	lost, restored := memory.New(), memory.New()
	var revisions []etcdstore.Revision
	for i := range 10 {
		revisions = append(revisions, put(t, lost, root+"a", fmt.Sprint("common ", i)))
		put(t, restored, root+"a", fmt.Sprint("common ", i))
	}
	etcd := newRestorable(t, lost)
	d := newFullDisk(t, etcd)
	awaitRevision(t, d.recorder, revisions[9])
	for i := range 10 {
		revisions = append(revisions, put(t, lost, root+"a", fmt.Sprint("lost ", i)))
	}
	awaitRevision(t, d.recorder, revisions[19])
	d.fill(true)
	waiting := put(t, lost, root+"a", "waiting")
	d.await("the event waits for room", func() bool { return lagOf(d.recorder) > 0 })
	if err := lost.Compact(revisions[19]); err != nil { // the newest revision of the journal can be compared
		t.Fatal(err)
	}
	d.await("a compacted revision", func() bool { value, err := d.value(revisions[15]); return err == nil && value == "lost 5" })

	etcd.restore(t, lost) // the connection breaks, and the history is the same
	d.await("the history is found to be the same", func() bool { return lagOf(d.recorder) == 0 })
	d.await("the event waits again", func() bool { return lagOf(d.recorder) > 0 })
	if value, err := d.value(revisions[15]); err != nil || value != "lost 5" {
		t.Errorf("after a broken connection: %q, %v", value, err)
	}

	for i := range 20 {
		put(t, restored, root+"a", fmt.Sprint("restored ", i))
	}
	newest, err := restored.Revision(t.Context())
	if err == nil {
		err = restored.Compact(newest)
	}
	if err != nil {
		t.Fatal(err)
	}
	etcd.restore(t, restored)
	d.await("the lost history is read no more", func() bool { _, err := d.value(revisions[15]); return isCompacted(err) })
	if _, ok := d.recorder.RangeOf(root); ok {
		t.Error("the lost history is that of the etcd")
	}
	watch := d.store.Watch(t.Context(), root, etcdstore.WatchOptions{After: revisions[12]})
	if step, err := watch.Next(t.Context()); !isCompacted(err) {
		t.Errorf("a watch in the lost history: %+v, %v", step, err)
	}
	if err := watch.Close(); err != nil {
		t.Error(err)
	}

	d.fill(false)
	d.await("the journal begins anew", func() bool { _, ok := d.recorder.RangeOf(root); return ok })
	d.checkAfterwards(revisions, waiting, put(t, restored, root+"a", "now"))
}

// checkAfterwards checks that no state of the lost history is read, and that the new one is recorded.
func (d *fullDisk) checkAfterwards(lost []etcdstore.Revision, waiting, now etcdstore.Revision) {
	d.t.Helper()
	awaitRevision(d.t, d.recorder, now)
	etcd, _ := d.etcd.current()
	next := put(d.t, etcd, root+"a", "next")
	awaitRevision(d.t, d.recorder, next)
	if err := etcd.Compact(next); err != nil {
		d.t.Fatal(err)
	}
	if value, err := d.value(now); err != nil || value != "now" {
		d.t.Errorf("the new history: %q, %v", value, err)
	}
	for _, at := range append(slices.Clone(lost), waiting) {
		if value, err := d.value(at); !isCompacted(err) {
			d.t.Errorf("revision %d: %q, %v, want that it is compacted", at, value, err)
		}
	}
	var former []etcdstore.Revision
	for _, r := range d.recorder.journal.Ranges() {
		if r.Former {
			former = append(former, r.Through)
		}
	}
	if !slices.Equal(former, lost[19:]) {
		d.t.Errorf("the former ranges end at %d, want %d", former, lost[19])
	}
}

// lagOf returns for how long an event has waited to be written.
func lagOf(r *Recorder) (lag time.Duration) {
	for _, s := range r.Statuses() {
		lag = max(lag, s.Lag)
	}
	return lag
}
