package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Status is what a snapshot contains. The first fields have the names and values of etcdutl.
type Status struct {
	Hash      uint32 `json:"hash"`
	Revision  int64  `json:"revision"`
	TotalKeys int    `json:"totalKey"`
	TotalSize int64  `json:"totalSize"`
	Version   string `json:"version"` // of the data format; empty: etcd before 3.6, or one that has just started

	Compacted int64   `json:"compacted"` // revisions before it cannot be read
	Owners    []Owner `json:"owners"`    // whose data it is
	Resources []Count `json:"resources"` // sorted by name
}

// Newest returns the revision of the etcd. Revision is the newest that is stored; a compaction may have removed later ones, of deletions.
func (s Status) Newest() int64 { return max(s.Revision, s.Compacted, 1) }

// Check is what Inspect demands of a file.
type Check bool

// The checks.
const (
	Checksum   Check = true  // the SHA-256 at the end of a file that was saved over the network
	NoChecksum Check = false // a database that was copied from a data directory has none
)

// ErrNoChecksum is the error for a file that does not end in a checksum.
var ErrNoChecksum = errors.New("it has no checksum at its end: it is no snapshot, it is cut off, or it was copied from a data directory")

// Inspect reads a snapshot, and checks its checksum and its structure.
func Inspect(ctx context.Context, file string, check Check) (Status, error) {
	if check == Checksum {
		if err := verifyChecksum(ctx, file); err != nil {
			return Status{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	s, err := inspect(ctx, file)
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// verifyChecksum compares the SHA-256 at the end of a file with its other bytes. A database is a number of sectors of 512 bytes.
func verifyChecksum(ctx context.Context, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return errors.Unwrap(err) // without the name of the file
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("it is a directory, not the file of a snapshot")
	}
	size := info.Size() - sha256.Size
	if size <= 0 || size%512 != 0 {
		return ErrNoChecksum
	}
	hash, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.Copy(hash, contextReader{ctx, io.LimitReader(f, size)}); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, want); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), want) {
		return errors.New("its checksum is wrong: the file is damaged")
	}
	return nil
}

// contextReader is a reader that fails when ctx ends.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func inspect(ctx context.Context, file string) (s Status, err error) {
	defer func() { // bbolt panics for some damaged files
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	info, err := os.Stat(file)
	if err != nil {
		return s, errors.Unwrap(err)
	}
	db, err := bolt.Open(file, 0o400, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return s, fmt.Errorf("it is no database of etcd, or another process uses it: %w", err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() { // a read of the memory map after the end of the file would kill the process
			return fmt.Errorf("it is cut off after %d of %d bytes", info.Size(), tx.Size())
		}
		for problem := range tx.Check() {
			return fmt.Errorf("the file is damaged: %w", problem)
		}
		s.TotalSize = tx.Size()
		return s.read(ctx, tx)
	})
	return s, errors.Join(err, db.Close())
}

var (
	keyBucket, metaBucket = []byte("key"), []byte("meta")
	versionKey            = []byte("storageVersion")
	compactionKeys        = [][]byte{[]byte("scheduledCompactRev"), []byte("finishedCompactRev")}
)

// read reads all buckets. The hash is that of etcdutl.
func (s *Status) read(ctx context.Context, tx *bolt.Tx) error {
	hash, tally := crc32.New(crc32.MakeTable(crc32.Castagnoli)), newTally()
	if tx.Bucket(keyBucket) == nil || tx.Bucket(metaBucket) == nil {
		return errors.New("it is no database of etcd: it has no keys")
	}
	s.Version = string(tx.Bucket(metaBucket).Get(versionKey))
	for _, key := range compactionKeys {
		if revision := tx.Bucket(metaBucket).Get(key); len(revision) >= revisionLength {
			s.Compacted = max(s.Compacted, int64(binary.BigEndian.Uint64(revision))) //nolint:gosec // revisions are positive
		}
	}
	err := tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
		_, _ = hash.Write(name) // never fails
		return bucket.ForEach(func(k, v []byte) error {
			_, _ = hash.Write(k)
			_, _ = hash.Write(v)
			if !bytes.Equal(name, keyBucket) {
				return nil
			}
			return errors.Join(s.readRevision(k, v, tally), ctx.Err())
		})
	})
	s.Hash, s.TotalKeys = hash.Sum32(), len(tally.sizes)
	s.Owners, s.Resources = tally.owners(), tally.counts()
	return err
}

// revisionLength is the length of a revision as a key of the database; the mark of a deletion follows it.
const revisionLength = 8 + 1 + 8

// readRevision reads one change of a key.
func (s *Status) readRevision(k, v []byte, tally *tally) error {
	if len(k) < revisionLength {
		return fmt.Errorf("the revision %x is damaged", k)
	}
	s.Revision = int64(binary.BigEndian.Uint64(k)) //nolint:gosec // revisions are positive
	var kv mvccpb.KeyValue
	if err := proto.Unmarshal(v, &kv); err != nil {
		return fmt.Errorf("the change at revision %d is damaged: %w", s.Revision, err)
	}
	switch {
	case len(k) > revisionLength:
		tally.remove(string(kv.GetKey()))
	case len(kv.GetKey()) > 0: // a restore with a higher revision leaves a change without a key
		tally.put(string(kv.GetKey()), kv.GetValue())
	}
	return nil
}
