package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Source streams a database, as etcdstore.Etcd.Snapshot.
type Source func(ctx context.Context, receive func(part []byte, remaining uint64) error) error

// Progress is called with the bytes that are done, of all.
type Progress func(done, total int64)

// ErrExists is the error for a file that exists and may not be replaced.
var ErrExists = errors.New("the file exists")

// SaveOptions say what to save, and where.
type SaveOptions struct {
	File     string
	Replace  bool // the file if it exists
	Source   Source
	Least    int64 // the revision that the snapshot has at least
	Progress Progress
}

// Save writes the database of a source to a file of mode 0600, and returns its status. The file appears when it is complete, checked and on
// disk; until then the data is in a temporary file in the same folder, which Save removes after an error.
func Save(ctx context.Context, o SaveOptions) (status Status, err error) {
	file := o.File
	if err := CheckTarget(file, o.Replace); err != nil {
		return Status{}, err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.part") // mode 0600
	if err != nil {
		return Status{}, err
	}
	defer func() {
		_ = temporary.Close() // after a sync, or an error
		_ = os.Remove(temporary.Name())
	}()
	if err := receive(ctx, temporary, o); err != nil {
		return Status{}, err
	}
	if err := temporary.Sync(); err != nil {
		return Status{}, err
	}
	if status, err = Inspect(ctx, temporary.Name(), Checksum); err != nil {
		return Status{}, fmt.Errorf("what etcd sent is no snapshot: %w", err)
	}
	if newest := status.Newest(); newest < o.Least {
		return Status{}, fmt.Errorf("the snapshot ends at revision %d, and etcd was at %d before: try again", newest, o.Least)
	}
	if err := publish(temporary.Name(), file, o.Replace); err != nil {
		return Status{}, err
	}
	return status, nil
}

// CheckTarget refuses a file that cannot be written, before data is requested for it.
func CheckTarget(file string, replace bool) error {
	switch info, err := os.Stat(file); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory: name a file", file)
	case err == nil && !replace:
		return fmt.Errorf("%s: %w", file, ErrExists)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if folder, err := os.Stat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no directory %s: make it, or choose another file", file, filepath.Dir(file))
	} else if err != nil {
		return err
	} else if !folder.IsDir() {
		return fmt.Errorf("%s is no directory", filepath.Dir(file))
	}
	return nil
}

// publish gives the temporary file its name.
func publish(temporary, file string, replace bool) error {
	if replace {
		if err := os.Rename(temporary, file); err != nil {
			return err
		}
	} else if err := os.Link(temporary, file); errors.Is(err, fs.ErrExist) { // another process has written it meanwhile
		return fmt.Errorf("%s: %w", file, ErrExists)
	} else if err != nil { // a file system without links
		if err := os.Rename(temporary, file); err != nil {
			return err
		}
	}
	folder, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	_ = folder.Sync() // some file systems cannot sync folders
	return folder.Close()
}

// receive writes the stream of a source, and checks its SHA-256.
func receive(ctx context.Context, to *os.File, o SaveOptions) error {
	hash := sha256.New()
	var tail []byte // the last bytes, which may be the checksum
	var done int64
	err := o.Source(ctx, func(part []byte, remaining uint64) error {
		if _, err := to.Write(part); err != nil {
			return err
		}
		done += int64(len(part))
		o.Progress(done, done+int64(remaining)) //nolint:gosec // a database has less than 2^63 bytes
		tail = append(tail, part...)
		if hashed := len(tail) - sha256.Size; hashed > 0 {
			_, _ = hash.Write(tail[:hashed]) // never fails
			tail = append(tail[:0], tail[hashed:]...)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), tail) {
		return fmt.Errorf("the snapshot has a wrong checksum after %d bytes: the connection broke, or the data was changed between etcd and this program; save it again", done)
	}
	return nil
}
