//go:build !noembedded

package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/snapshot"
)

// startStore starts an etcd with a key at revision 2, and opens it.
func startStore(t *testing.T, dir string) *etcdstore.Etcd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir, ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err == nil {
		err = store.Await(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return store
}

func ignore(int64, int64) {}

// wantFiles checks which files a folder has.
func wantFiles(t *testing.T, folder string, want int) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != want {
		t.Errorf("the folder has %v (%v), want %d files", entries, err, want)
	}
}

// TestSaveAndRestore saves an etcd, and reads the restored one at a higher revision.
func TestSaveAndRestore(t *testing.T) {
	store := startStore(t, t.TempDir())
	if _, err := store.Create(t.Context(), "/registry/apps/deployments/default/web", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "backup.db")
	var done, total int64
	saved, err := snapshot.Save(t.Context(), snapshot.SaveOptions{File: file, Source: store.Snapshot, Least: 2, Progress: func(d, all int64) { done, total = d, all }})
	if err != nil {
		t.Fatal(err)
	}
	if saved.Revision != 2 || saved.TotalKeys != 1 || len(saved.Resources) != 1 || saved.Resources[0].Resource != "deployments.apps" || done == 0 || done != total {
		t.Errorf("saved %+v, %d of %d bytes", saved, done, total)
	}
	wantFiles(t, folder, 1)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v (%v), want mode 600", info.Mode(), err)
	}
	if _, err := snapshot.Save(t.Context(), snapshot.SaveOptions{File: file, Source: store.Snapshot, Progress: ignore}); !errors.Is(err, snapshot.ErrExists) {
		t.Errorf("save again: %v, want ErrExists", err)
	}
	if _, err := snapshot.Save(t.Context(), snapshot.SaveOptions{File: file, Replace: true, Source: store.Snapshot, Least: 3, Progress: ignore}); err == nil {
		t.Error("a snapshot before the wanted revision is accepted")
	}

	dir := filepath.Join(folder, "restored")
	options := snapshot.RestoreOptions{File: file, DataDir: dir, Check: snapshot.Checksum, Bump: 1000, Name: "revtail",
		InitialCluster: "revtail=http://localhost:2380", Token: "etcd-cluster", PeerURLs: []string{"http://localhost:2380"}}
	if _, err := snapshot.Restore(t.Context(), options, ignore); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, folder, 2)
	if _, err := snapshot.Restore(t.Context(), options, ignore); !errors.Is(err, snapshot.ErrNotEmpty) {
		t.Errorf("restore again: %v, want ErrNotEmpty", err)
	}
	restored := startStore(t, dir)
	if kv, revision, err := restored.Get(t.Context(), "/registry/apps/deployments/default/web"); err != nil || kv.Modified != 2 || revision < 1002 {
		t.Errorf("the restored key: %+v at %d (%v)", kv, revision, err)
	}
	compacted := (*etcdstore.CompactedError)(nil)
	if err := restored.Keeps(t.Context(), 2); !errors.As(err, &compacted) {
		t.Errorf("revision 2 after the restore: %v, want a CompactedError", err)
	}
}

// TestInterrupted checks that an interrupted command leaves nothing behind.
func TestInterrupted(t *testing.T) {
	store := startStore(t, t.TempDir())
	folder := t.TempDir()
	file := filepath.Join(folder, "backup.db")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := snapshot.Save(ctx, snapshot.SaveOptions{File: file, Source: store.Snapshot, Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("save: %v, want context.Canceled", err)
	}
	wantFiles(t, folder, 0)

	cut := func(ctx context.Context, receive func([]byte, uint64) error) error {
		sent := false
		return store.Snapshot(ctx, func(part []byte, remaining uint64) error {
			if sent {
				return nil // the rest is lost
			}
			sent = true
			return receive(part[:min(len(part), 4096)], remaining)
		})
	}
	if _, err := snapshot.Save(t.Context(), snapshot.SaveOptions{File: file, Source: cut, Progress: ignore}); err == nil {
		t.Error("a cut stream is accepted")
	}
	wantFiles(t, folder, 0)

	if _, err := snapshot.Save(t.Context(), snapshot.SaveOptions{File: file, Source: store.Snapshot, Progress: ignore}); err != nil {
		t.Fatal(err)
	}
	_, err = snapshot.Restore(ctx, snapshot.RestoreOptions{File: file, DataDir: filepath.Join(folder, "restored"), Check: snapshot.Checksum, Bump: 1,
		Name: "m", InitialCluster: "m=http://localhost:2380", PeerURLs: []string{"http://localhost:2380"}}, ignore)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("restore: %v, want context.Canceled", err)
	}
	wantFiles(t, folder, 1)
}
