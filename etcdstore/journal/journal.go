package journal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Journal is a database of events. It is safe for concurrent use; the events of a range are written by one goroutine.
type Journal struct {
	dir    string
	db     *pebble.DB
	reads  pebble.Reader // db, or a snapshot of it
	logger *slog.Logger

	open       context.Context //nolint:containedctx // ends with Close
	close      context.CancelFunc
	remainders atomic.Pointer[remainders]
	exporting  sync.Mutex       // while Export runs
	ending     sync.Mutex       // of one goroutine that changes ended ranges at a time
	mu         sync.RWMutex     // guards the fields below
	ranges     map[uint32]Range // by number
	numbers    uint32           // the last number that was given
}

// Close writes what is in memory, and closes the database. It ends an export. No other method may be called meanwhile or afterwards.
func (j *Journal) Close() error {
	j.close()
	j.exporting.Lock() // an export has ended
	defer j.exporting.Unlock()
	return j.db.Close()
}

// Size returns how many bytes the journal takes on the disk.
func (j *Journal) Size() int64 { return int64(j.db.Metrics().DiskSpaceUsage()) }

// Reserve is how many bytes of the disk should stay free, because the database cannot go on when a write fails.
const Reserve = 256 << 20

// Free returns how many bytes the disk of the journal has free; false: it is not known.
func (j *Journal) Free() (uint64, bool) {
	usage, err := vfs.Default.GetDiskUsage(j.dir)
	return usage.AvailBytes, err == nil
}

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
