package journal

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reserve is how many bytes of the disk stay free, because the database cannot go on when a write fails.
const reserve = 256 << 20

// roomInterval is how long the free space of the disk is taken to be what it was: less is written in that time than the reserve has.
const roomInterval = time.Second

// room is the free space of the disk, as of the last look.
type room struct {
	looked atomic.Int64 // Unix time in nanoseconds
	scarce atomic.Bool
}

// hasRoom reports whether the disk has room for more events.
func (j *Journal) hasRoom() bool {
	now, looked := time.Now().UnixNano(), j.room.looked.Load()
	if age := now - looked; (age < 0 || age >= int64(roomInterval)) && j.room.looked.CompareAndSwap(looked, now) {
		usage, err := vfs.Default.GetDiskUsage(j.dir)
		j.room.scarce.Store(err == nil && usage.AvailBytes <= reserve)
	}
	return !j.room.scarce.Load()
}
