package dbfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/readonly"
)

// Options say what Open accepts.
type Options struct {
	// Partial opens a damaged file up to the newest revision whose state is complete.
	Partial bool
	// NoChecksum leaves out the check of the SHA-256 at the end of a snapshot.
	NoChecksum bool
}

// Info is what a file contains.
type Info struct {
	File     string             // the database itself, where Open got a directory
	Size     int64              // of the database, without a checksum
	Written  time.Time          // when the file was last written
	Version  string             // of the format; empty: of an etcd before 3.6, or one that had just started
	Checksum bool               // the file ends in one, and it is right or was not checked
	Oldest   etcdstore.Revision // that can be read
	Newest   etcdstore.Revision
	Keys     int           // at the newest revision
	Changes  int           // that are stored
	Damage   *DamagedError // of a file that was opened in part; nil: it is whole
}

// Open opens a snapshot, the database of a member, or the data directory of one. It reads where every change is, and no values. The file
// stays as it is, and nothing is written elsewhere. The error is a *DamagedError for a damaged file, and ErrInUse for that of an etcd that
// runs.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	name, err := locate(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err) // without the name of the file
	}
	s := &Store{file: f}
	s.Store = readonly.New(readonly.Source{Refusal: ErrReadOnly, Newest: func() etcdstore.Revision { return s.info.Newest }, Find: s.find})
	if err = lock(f); err == nil {
		err = s.load(ctx, o)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	s.info.File = name
	return s, nil
}

// locate returns the database of a data directory, and other files as they are.
func locate(path string) (string, error) {
	info, err := os.Stat(path)
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return "", pathError.Err
	}
	if err == nil && !info.IsDir() {
		if !info.Mode().IsRegular() {
			return "", errors.New("it is neither a file nor a directory")
		}
		return path, nil
	}
	for _, below := range []string{filepath.Join("member", "snap", "db"), filepath.Join("snap", "db"), "db"} {
		if info, err := os.Stat(filepath.Join(path, below)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(path, below), nil
		}
	}
	return "", errors.New("it is a directory without member/snap/db, the database of an etcd")
}

// load reads the structure of the file, and checks its checksum meanwhile.
func (s *Store) load(ctx context.Context, o Options) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	s.info.Written = info.ModTime()
	if s.info.Checksum = size%512 == sha256.Size; s.info.Checksum {
		size -= sha256.Size
	}
	checked := make(chan error, 1)
	if s.info.Checksum && !o.NoChecksum {
		go func() { checked <- verify(ctx, s.file, size) }()
	} else {
		checked <- nil
	}
	damage, err := s.read(ctx, size)
	wrong := <-checked
	switch {
	case err != nil && wrong != nil:
		return fmt.Errorf("%w (%w)", err, wrong)
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case damage == nil && wrong == nil:
		return nil
	}
	s.info.Damage = &DamagedError{Reason: errors.Join(damage, wrong), Changes: s.info.Changes, Through: s.info.Newest}
	if damage == nil {
		s.info.Damage.Reason = wrong
	} else if wrong == nil {
		s.info.Damage.Reason = damage
	}
	if s.info.Newest < s.info.Oldest {
		s.info.Damage.Through = 0
	}
	if !o.Partial || s.info.Damage.Through == 0 {
		return s.info.Damage
	}
	return nil
}

// read reads the structure of the database. It returns the damage, up to which the store is complete, or an error if there is no store.
func (s *Store) read(ctx context.Context, size int64) (damage, err error) {
	if s.pages, err = openPages(s.file, size); err != nil {
		return nil, err
	}
	s.info.Size = size
	cut := s.pages.cut()
	buckets, err := s.pages.buckets()
	if err != nil {
		return nil, &DamagedError{Reason: first(cut, err)}
	}
	keys, hasKeys := buckets["key"]
	metadata, hasMeta := buckets["meta"]
	if !hasKeys || !hasMeta {
		return nil, fmt.Errorf("%w: it has no keys", errNoDatabase)
	}
	compacted, version, err := readMeta(s.pages, metadata)
	if err != nil {
		return nil, &DamagedError{Reason: first(cut, err)}
	}
	found, err := readChanges(ctx, s.pages, keys)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.info.Version, s.info.Oldest = version, max(compacted, 1)
	if err != nil { // the newest revision may have further changes, after the damage
		found.truncate(found.newest)
		s.info.Newest = found.newest
	} else {
		s.info.Newest = max(found.newest, compacted, 1) // a compaction may have removed later changes, of deletions
	}
	s.index = found.finish()
	s.info.Changes, s.info.Keys = len(s.index.changes), s.index.live()
	if err != nil || cut != nil {
		return first(cut, err), nil
	}
	return nil, nil
}

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// verify compares the SHA-256 at the end of a file with its other bytes.
func verify(ctx context.Context, f io.ReaderAt, size int64) error {
	hash, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := f.ReadAt(want, size); err != nil {
		return err
	}
	part := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(part)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part = part[:min(int64(len(part)), size-at)]
		if _, err := f.ReadAt(part, at); err != nil {
			return err
		}
		_, _ = hash.Write(part) // never fails
	}
	if !bytes.Equal(hash.Sum(nil), want) {
		return errors.New("its checksum is wrong")
	}
	return nil
}
