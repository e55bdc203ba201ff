package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// dataDir is a data directory that this process has locked.
type dataDir struct {
	lock *os.File // the lock ends when it is closed
}

// openDataDir makes dir if need be, locks it, and tries it out. It never waits: etcd itself would wait without end for
// a database that another process holds. Errors are *DataDirError.
func openDataDir(dir string) (*dataDir, error) {
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
	return &dataDir{lock: lock}, nil
}

// Close lets others use the directory.
func (d *dataDir) Close() error { return d.lock.Close() }

// probeDatabase finds out whether a plain etcd, which knows nothing of our lock, has the database open, and whether it
// is a database at all. A path without a file, or with an empty one, is fine: etcd makes its database there.
func probeDatabase(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	// Read only takes bbolt's shared lock, which the exclusive one of an etcd excludes; a millisecond means one attempt.
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return ErrDataDirInUse
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() { // reading the memory map behind the end of the file would kill the process
			return fmt.Errorf("%s: cut off after %d of %d bytes", path, info.Size(), tx.Size())
		}
		return nil
	})
	return errors.Join(err, db.Close())
}
