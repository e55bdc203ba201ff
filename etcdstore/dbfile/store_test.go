//go:build !noembedded

package dbfile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/goleak"

	"revtail/etcdstore"
	"revtail/etcdstore/dbfile"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startEtcd runs an etcd until the test ends, and returns a store over it.
func startEtcd(t *testing.T, dir string) (*etcdstore.Etcd, *embedded.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir, ClientURL: "http://127.0.0.1:0", Disposable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // a test may have closed it
	store, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err == nil {
		err = store.Await(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, server
}

// save writes a snapshot of an etcd to a file.
func save(tb testing.TB, etcd *etcdstore.Etcd, file string) {
	tb.Helper()
	f, err := os.Create(file)
	if err == nil {
		err = etcd.Snapshot(context.Background(), func(part []byte, _ uint64) error {
			_, failed := f.Write(part)
			return failed
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// openFile opens a file until the test ends.
func openFile(tb testing.TB, file string) *dbfile.Store {
	tb.Helper()
	s, err := dbfile.Open(context.Background(), file, dbfile.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// backend writes to an etcd, and reads each time from a snapshot of it.
type backend struct {
	*etcdstore.Etcd
	server *embedded.Server
	t      *testing.T
	folder string
	files  atomic.Int64
}

// open opens a snapshot of now.
func (b *backend) open() *dbfile.Store {
	file := filepath.Join(b.folder, fmt.Sprint(b.files.Add(1)))
	save(b.t, b.Etcd, file)
	s, err := dbfile.Open(context.Background(), file, dbfile.Options{})
	if err != nil {
		b.t.Error(err)
		b.t.FailNow()
	}
	_ = os.Remove(file) // it stays open
	return s
}

func (b *backend) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	s := b.open()
	defer s.Close()
	return s.Get(ctx, key)
}

func (b *backend) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	s := b.open()
	defer s.Close()
	return s.List(ctx, prefix, o)
}

func (b *backend) Revision(ctx context.Context) (etcdstore.Revision, error) {
	s := b.open()
	defer s.Close()
	return s.Revision(ctx)
}

// Compact implements storetest.Backend.
func (b *backend) Compact(rev etcdstore.Revision) error {
	kv, _ := b.server.Local()
	_, err := kv.Compact(b.t.Context(), &pb.CompactionRequest{Revision: int64(rev), Physical: true})
	return err
}

// Txn implements storetest.Backend.
func (b *backend) Txn(puts map[string][]byte, deletes []string) etcdstore.Revision {
	b.t.Helper()
	var ops []etcdstore.Op
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: puts[key]})
	}
	for _, key := range slices.Sorted(slices.Values(deletes)) {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Delete, Key: key})
	}
	result, err := b.Transact(b.t.Context(), etcdstore.Txn{Then: ops})
	if err != nil {
		b.t.Fatalf("Txn: %v", err)
	}
	return result.Revision
}

// Watch implements etcdstore.Store.
func (b *backend) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &follower{backend: b, ctx: ctx, prefix: prefix, options: o, through: o.After, closed: make(chan struct{})}
}

// follower watches an etcd that goes on by snapshots of it: each Next opens a new one, after what the last one had.
type follower struct {
	backend  *backend
	ctx      context.Context
	prefix   string
	options  etcdstore.WatchOptions
	through  etcdstore.Revision
	progress atomic.Bool
	closing  sync.Once
	closed   chan struct{}
	err      error
}

// Next implements etcdstore.Watcher.
func (f *follower) Next(ctx context.Context) (etcdstore.Batch, error) {
	if f.err != nil {
		return etcdstore.Batch{}, f.err
	}
	deadline, bounded := ctx.Deadline()
	wait := time.Until(deadline)
	s := f.backend.open()
	defer s.Close()
	if bounded { // the snapshot takes none of the caller's time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), wait)
		defer cancel()
	}
	o := f.options
	o.After = f.through
	w := s.Watch(f.ctx, f.prefix, o)
	defer w.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() { // Close may be called while Next waits
		select {
		case <-f.closed:
			_ = w.Close()
		case <-ended:
		}
	}()
	select {
	case <-f.closed:
		_ = w.Close()
	default:
	}
	if f.progress.Swap(false) {
		_ = w.RequestProgress(ctx)
	}
	batch, err := w.Next(ctx)
	switch {
	case err == nil:
		f.through = batch.Through
	case ctx.Err() == nil:
		f.err = err
	}
	return batch, err
}

// RequestProgress implements etcdstore.Watcher.
func (f *follower) RequestProgress(context.Context) error {
	f.progress.Store(true)
	return nil
}

// Close implements etcdstore.Watcher.
func (f *follower) Close() error {
	f.closing.Do(func() { close(f.closed) })
	return nil
}

// TestStore tests the contract: writes go to an etcd, and every read is one of a snapshot of it. A watch of a file does not outlive a
// compaction, because a file has none.
func TestStore(t *testing.T) {
	etcd, server := startEtcd(t, t.TempDir())
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		return &backend{Etcd: etcd, server: server, t: t, folder: t.TempDir()}
	}, "Watch/compaction-keeps-current-watches")
}
