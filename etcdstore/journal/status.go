package journal

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Status is how the recording of the keys with a prefix goes.
type Status struct {
	Prefix    string
	Recording bool          // the events of the present history of the etcd are followed
	Lag       time.Duration // for how long events have waited to be written; zero: none waits
	Events    uint64        // that were written since the start
	Bytes     uint64        // of these events in the database, before compression
}

// Statuses returns the status of each prefix.
func (r *Recorder) Statuses() []Status {
	if !r.opened.Load() {
		return nil
	}
	out := make([]Status, 0, len(r.parts))
	for _, p := range r.parts {
		s := Status{Prefix: p.prefix, Recording: p.current.Load(), Events: p.events.Load(), Bytes: p.bytes.Load()}
		if arrived := p.unwritten.Load(); arrived != nil {
			s.Lag = time.Since(*arrived)
		}
		out = append(out, s)
	}
	return out
}

// Bounds returns how long events are kept, and how many bytes the journal takes; zero: there is no bound.
func (r *Recorder) Bounds() (retention time.Duration, size int64) {
	return r.config.Retention, r.config.MaxSize
}

// Free returns how many bytes the disk of the journal has free; false: it is not known.
func (j *Journal) Free() (uint64, bool) {
	usage, err := vfs.Default.GetDiskUsage(j.dir)
	return usage.AvailBytes, err == nil
}
