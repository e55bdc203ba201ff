package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of directories that are not opened.
var (
	ErrInUse     = errors.New("another process has it open")
	ErrNoJournal = errors.New("the directory has no journal")
	// ErrIncomplete says that an import into the directory was killed.
	ErrIncomplete = errors.New("an import into it did not end: delete the directory, and import again")
)

// Access says what a program does with a journal.
type Access bool

// The kinds of Access.
const (
	ReadOnly  Access = false // nothing is written, also no index of keys that an earlier version lacks
	ReadWrite Access = true
)

// Open opens the journal in a directory, which it creates if it does not exist. One process has it open at a time. The caller closes it.
func Open(dir string, logger *slog.Logger) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil { // it has the values of the etcd
		return nil, fmt.Errorf("the journal: %w", err)
	}
	j, err := open(dir, logger, ReadWrite)
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%w: want a directory for each gateway", err)
	}
	return j, err
}

// Exists reports whether a directory has a journal. The error says that it has something else, or cannot be read.
func Exists(dir string) (bool, error) {
	description, err := pebble.Peek(dir, vfs.Default)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case description.Exists:
		return true, nil
	}
	return false, checkEmpty(dir)
}

// IsOpen reports whether a process has the journal in a directory open, or imports one into it.
func IsOpen(dir string) bool {
	for _, name := range []string{dir, dir + importSuffix} {
		lock, err := vfs.Default.Lock(filepath.Join(name, "LOCK"))
		if errors.Is(err, syscall.EAGAIN) {
			return true
		}
		if err == nil {
			_ = lock.Close() // nothing was written
		}
	}
	return false
}

// OpenExisting opens a journal that exists. The error is ErrNoJournal if there is none, ErrInUse, ErrIncomplete, or one of the database. The caller
// closes it.
func OpenExisting(dir string, logger *slog.Logger, access Access) (*Journal, error) {
	description, err := pebble.Peek(dir, vfs.Default)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such directory", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s: %w: it is a file", dir, ErrNoJournal)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	case !description.Exists:
		return nil, fmt.Errorf("%s: %w", dir, ErrNoJournal)
	}
	j, err := open(dir, logger, ReadOnly) // opened for writing, the database of another program would change
	if err != nil {
		return nil, err
	}
	if err := j.checkKinds(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), j.Close())
	}
	if access == ReadOnly {
		return j, nil
	}
	if err := j.Close(); err != nil {
		return nil, err
	}
	return open(dir, logger, access)
}

func open(dir string, logger *slog.Logger, access Access) (*Journal, error) {
	if _, err := os.Lstat(filepath.Join(dir, incompleteFile)); err == nil {
		return nil, fmt.Errorf("the journal in %s: %w", dir, ErrIncomplete)
	}
	return openDatabase(dir, logger, access)
}

const (
	// blockSize is how many bytes of entries are compressed together: a list reads most blocks, and larger ones take less space and fewer reads.
	blockSize = 32 << 10
	// cacheSize is how many bytes of blocks stay in memory.
	cacheSize = 32 << 20
)

func openDatabase(dir string, logger *slog.Logger, access Access) (*Journal, error) {
	options := &pebble.Options{
		Logger: databaseLogger{logger}, FormatMajorVersion: pebble.FormatNewest, ReadOnly: access == ReadOnly, CacheSize: cacheSize,
		EventListener: &pebble.EventListener{DataCorruption: func(info pebble.DataCorruptionInfo) { // the default ends the process
			logger.Error("a file of the journal is damaged", "file", info.Path, "error", info.Details)
		}},
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	for i := range options.Levels {
		options.Levels[i].BlockSize = blockSize
	}
	db, err := pebble.Open(dir, options)
	if errors.Is(err, syscall.EAGAIN) {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("the journal in %s: %w", dir, err)
	}
	j := &Journal{dir: dir, db: db, reads: db, logger: logger, ranges: make(map[uint32]Range)}
	j.remainders.Store(newRemainders())
	j.open, j.close = context.WithCancel(context.Background()) //nolint:forbidigo // the life of the journal
	err = j.loadRanges()
	if err == nil && access == ReadWrite {
		err = j.addIndexes()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the journal in %s: %w", dir, err), db.Close())
	}
	return j, nil
}

// checkKinds refuses the database of another program.
func (j *Journal) checkKinds() error {
	it, err := j.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	if !it.First() || len(j.ranges) > 0 {
		return it.Error()
	}
	switch it.Key()[0] {
	case stateKind, eventKind, timeKind, indexKind, newestKind: // of a range that has not begun
		return nil
	}
	return ErrNoJournal
}
