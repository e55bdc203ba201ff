package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// Journal is a database of events. It is safe for concurrent use; the events of a range are written by one goroutine.
type Journal struct {
	dir    string
	db     *pebble.DB
	logger *slog.Logger
	room   room

	mu      sync.RWMutex     // guards the fields below
	ranges  map[uint32]Range // by number
	numbers uint32           // the last number that was given
}

// Open opens the journal in a directory, which it creates if it does not exist. One process has it open at a time. The caller closes it.
func Open(dir string, logger *slog.Logger) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil { // it has the values of the etcd
		return nil, fmt.Errorf("the journal: %w", err)
	}
	options := &pebble.Options{Logger: databaseLogger{logger}, FormatMajorVersion: pebble.FormatNewest}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	db, err := pebble.Open(dir, options)
	if errors.Is(err, syscall.EAGAIN) {
		err = errors.New("another process has it open: want a directory for each gateway")
	}
	if err != nil {
		return nil, fmt.Errorf("the journal in %s: %w", dir, err)
	}
	j := &Journal{dir: dir, db: db, logger: logger, ranges: make(map[uint32]Range)}
	if err := errors.Join(j.loadRanges(), j.addIndexes()); err != nil {
		return nil, errors.Join(fmt.Errorf("the journal in %s: %w", dir, err), db.Close())
	}
	return j, nil
}

// Close writes what is in memory, and closes the database. No method may be called afterwards.
func (j *Journal) Close() error { return j.db.Close() }

// Size returns how many bytes the journal takes on the disk.
func (j *Journal) Size() int64 { return int64(j.db.Metrics().DiskSpaceUsage()) }

// databaseLogger is the log of the database: what it does is of interest to developers only.
type databaseLogger struct{ logger *slog.Logger }

func (l databaseLogger) Infof(format string, args ...any) {
	l.logger.Debug("journal", "database", fmt.Sprintf(format, args...))
}

func (l databaseLogger) Errorf(format string, args ...any) {
	l.logger.Error("journal", "database", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger, which calls it when the database cannot go on.
func (l databaseLogger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.logger.Error("journal", "database", text)
	panic("journal: " + text)
}
