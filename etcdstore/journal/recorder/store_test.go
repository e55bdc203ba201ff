package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/goleak"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "/registry/"

// compactible is an etcd that the test compacts.
type compactible struct {
	*etcdstore.Etcd
	server *embedded.Server
}

// openEtcd starts an etcd that is stopped when the test ends.
func openEtcd(t *testing.T) compactible {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0", Disposable: true})
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err == nil {
		err = etcd.Await(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(etcd.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return compactible{etcd, server}
}

// startRecorder records until the returned function is called.
func startRecorder(t *testing.T, etcd etcdstore.Store, dir string) (*Recorder, func()) {
	t.Helper()
	j, err := journal.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := New(j, Config{Store: etcd, Prefixes: []string{root}, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

// awaitRevision waits until the journal has a revision.
func awaitRevision(t *testing.T, r *Recorder, revision etcdstore.Revision) {
	t.Helper()
	for {
		for _, known := range r.journal.Ranges() {
			if !known.Former && known.Through >= revision {
				return
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the journal does not reach the revision")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// collect reads the events of a watch through a revision.
func collect(t *testing.T, s etcdstore.Store, o etcdstore.WatchOptions, through etcdstore.Revision) ([]etcdstore.Event, error) {
	t.Helper()
	w := s.Watch(t.Context(), root, o)
	defer func() { _ = w.Close() }()
	var out []etcdstore.Event
	for {
		step, err := w.Next(t.Context())
		if err != nil {
			return out, err
		}
		if out = append(out, step.Events...); step.Through >= through {
			return out, nil
		}
	}
}

func put(t *testing.T, s etcdstore.Store, key, value string) etcdstore.Revision {
	t.Helper()
	result, err := s.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: []byte(value)}}})
	if err != nil {
		t.Fatal(err)
	}
	return result.Revision
}

func (c compactible) compact(t *testing.T, at etcdstore.Revision) {
	t.Helper()
	kv, _ := c.server.Local()
	if _, err := kv.Compact(t.Context(), &pb.CompactionRequest{Revision: int64(at)}); err != nil {
		t.Fatal(err)
	}
}

// TestCompactedRevisions checks that lists and watches at compacted revisions are answered, and continue with etcd.
func TestCompactedRevisions(t *testing.T) {
	etcd := openEtcd(t)
	put(t, etcd, root+"first", "0")
	dir := t.TempDir()
	r, stop := startRecorder(t, etcd, dir)
	awaitRevision(t, r, 2)
	var revisions []etcdstore.Revision
	for i := range 50 {
		revisions = append(revisions, put(t, etcd, fmt.Sprintf("%s%d", root, i%7), fmt.Sprint("value ", i)))
	}
	last := revisions[len(revisions)-1]
	o := etcdstore.WatchOptions{After: revisions[0], Previous: true}
	wantEvents, err := collect(t, etcd, o, last)
	if err != nil {
		t.Fatal(err)
	}
	at := etcdstore.ListOptions{At: revisions[20]}
	wantPage, err := etcd.List(t.Context(), root, at)
	if err != nil {
		t.Fatal(err)
	}
	etcd.compact(t, last)
	check := func(s *Store) {
		t.Helper()
		if page, err := s.List(t.Context(), root, at); err != nil || !cmp.Equal(wantPage, page) {
			t.Errorf("list of a compacted revision: %v\n%s", err, cmp.Diff(wantPage, page))
		}
		events, failed := collect(t, s, o, last)
		if failed != nil || !cmp.Equal(wantEvents, events) {
			t.Errorf("watch from a compacted revision: %v\n%s", failed, cmp.Diff(wantEvents, events))
		}
		next := put(t, s, root+"next", "now")
		events, failed = collect(t, s, o, next)
		if n := len(events); failed != nil || n == 0 || events[n-1].Revision != next {
			t.Errorf("a watch does not continue with etcd: %v", failed)
		}
		if _, err := s.List(t.Context(), "/elsewhere/", at); !isCompacted(err) {
			t.Errorf("a list of keys that are not recorded: %v", err)
		}
		if _, err := collect(t, s, etcdstore.WatchOptions{After: 1}, 2); !isCompacted(err) {
			t.Errorf("a watch from before the journal: %v", err)
		}
	}
	check(NewStore(etcd, r))
	stop()
	// While no gateway runs, etcd forgets nothing: the journal goes on without a gap.
	missed := put(t, etcd, root+"missed", "later")
	r, stop = startRecorder(t, etcd, dir)
	awaitRevision(t, r, missed)
	wantEvents, err = collect(t, NewStore(etcd, r), o, missed)
	if err != nil {
		t.Fatal(err)
	}
	check2 := func(s *Store, want error) {
		t.Helper()
		events, err := collect(t, s, o, missed)
		if want == nil && !cmp.Equal(wantEvents, events) || isCompacted(err) != isCompacted(want) {
			t.Errorf("watch: %v, want %v", err, want)
		}
	}
	check2(NewStore(etcd, r), nil)
	stop()
	for range 20 {
		missed = put(t, etcd, root+"missed", "later")
	}
	etcd.compact(t, missed)
	r, _ = startRecorder(t, etcd, dir)
	awaitRevision(t, r, missed)
	if ranges := r.journal.Ranges(); len(ranges) != 1 || len(ranges[0].Gaps) != 1 {
		t.Errorf("ranges %+v, want one with a gap", ranges)
	}
	check2(NewStore(etcd, r), &etcdstore.CompactedError{})
	if page, err := NewStore(etcd, r).List(t.Context(), root, at); err != nil || !cmp.Equal(wantPage, page) {
		t.Errorf("a list before the gap: %v", err)
	}
}

// TestCompactionUnderLoad checks that watches which resume at old revisions lose nothing while etcd is compacted again and again.
func TestCompactionUnderLoad(t *testing.T) {
	etcd := openEtcd(t)
	put(t, etcd, root+"0", "0")
	r, _ := startRecorder(t, etcd, t.TempDir())
	awaitRevision(t, r, 2)
	s := NewStore(etcd, r)
	var written []etcdstore.Revision
	for i := range 300 {
		written = append(written, put(t, etcd, fmt.Sprintf("%s%d", root, i%11), fmt.Sprint(i)))
		if i%10 == 9 {
			etcd.compact(t, written[i])
		}
	}
	for _, from := range []int{0, 1, 57, 144, 289} {
		events, err := collect(t, s, etcdstore.WatchOptions{After: written[from]}, written[len(written)-1])
		if err != nil {
			t.Fatal(err)
		}
		var got []etcdstore.Revision
		for _, e := range events {
			got = append(got, e.Revision)
		}
		if diff := cmp.Diff(written[from+1:], got); diff != "" {
			t.Errorf("revisions of the watch after %d:\n%s", written[from], diff)
		}
	}
}
