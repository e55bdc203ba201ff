//go:build !noembedded

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// openDataDir creates dir if necessary, locks it, and checks its files. It fails at once if another process uses them, where etcd would
// wait without a timeout. Closing the returned file unlocks dir. Errors are *DataDirError.
func openDataDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &DataDirError{Dir: dir, Err: err}
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, &DataDirError{Dir: dir, Err: err}
	}
	err = fileutil.IsDirWriteable(dir)
	if err == nil {
		err = probeDatabase(filepath.Join(dir, "member", "snap", "db"))
	}
	if err != nil {
		_ = lock.Close()
		return nil, &DataDirError{Dir: dir, Err: err}
	}
	return lock, nil
}

// probeDatabase checks that no other etcd, which ignores the lock of this package, has opened the database, and that the file is a valid
// database. A missing or empty file is valid: etcd creates its database there.
func probeDatabase(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	// ReadOnly takes the shared lock of bbolt, which excludes the exclusive lock of etcd; one millisecond allows one attempt.
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return ErrDataDirInUse
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() { // a read of the memory map after the end of the file would kill the process
			return fmt.Errorf("%s: cut off after %d of %d bytes", path, info.Size(), tx.Size())
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

// discardUnborn removes the files of a first start that ended before the member joined its own cluster. etcd creates its log before the
// first entry, with which the member joins. A later start finds a log without that entry, does not bootstrap a cluster, and waits for a
// leader without end. A log without entries has no data.
func discardUnborn(dataDir string, log *slog.Logger) error {
	member := filepath.Join(dataDir, "member")
	if !isUnborn(member) {
		return nil
	}
	log.Warn("the first start was interrupted before it wrote data: starting again", "dir", member)
	if err := os.RemoveAll(member); err != nil {
		return &DataDirError{Dir: dataDir, Err: err}
	}
	return nil
}

// isUnborn reports whether the log of a member has no entries. It is false in case of errors.
func isUnborn(member string) bool {
	segments, _ := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	snapshots, _ := filepath.Glob(filepath.Join(member, "snap", "*.snap"))
	if len(segments) != 1 || len(snapshots) > 0 {
		return false
	}
	w, err := wal.OpenForRead(zap.NewNop(), filepath.Join(member, "wal"), &walpb.Snapshot{})
	if err != nil {
		return false
	}
	defer func() { _ = w.Close() }() // it was only read
	_, _, entries, err := w.ReadAll()
	return err == nil && len(entries) == 0
}
