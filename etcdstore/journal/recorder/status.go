package recorder

import (
	"time"

	"revtail/etcdstore/journal"
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

// Bounds returns the bounds of the journal.
func (r *Recorder) Bounds() journal.Bounds { return r.config.Bounds }
