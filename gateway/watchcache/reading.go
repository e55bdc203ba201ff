package watchcache

import (
	"weak"

	"revtail/gateway/filter"
)

const (
	// sharedEvents and sharedBytes bound a reading that is shared. It ends where the position is a multiple of sharedEvents: late
	// watchers, wherever they were, come to read the same.
	sharedEvents = 64
	sharedBytes  = 128 << 10
)

// reading is what was read of the log: another watcher that stands where it began gets the same. It does not change.
type reading struct {
	cache    *Cache // nil: nobody else gets the same
	scope    scope
	filter   *filter.Filter
	from, to uint64 // positions
	complete bool   // it is as much as is read at a time
	batch    Batch
}

// again moves the cursor over what was read, if that is what the watcher would read.
func (r *reading) again(w *Watcher) bool {
	c := w.cache
	if c != r.cache || !r.suits(w) || w.query.Latest || w.resuming || w.broken != nil || !w.query.Selector.Empty() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.againLocked(w)
}

// suits tells whether the watcher looks at the same, and selects as little or by the same filter.
func (r *reading) suits(w *Watcher) bool {
	return w.topic.scope == r.scope && w.query.Filter == r.filter
}

func (r *reading) againLocked(w *Watcher) bool {
	c := w.cache
	w.wakeUpLocked()
	if c.stopped || c.contact.lost && !w.query.Own || w.era != c.era || w.position != r.from || w.through >= r.batch.Changes[0].Revision {
		return false
	}
	w.position, w.through = r.to, r.batch.Through
	return true
}

// readings are those that were shared last, by where they begin. They keep none alive: what nobody delivers any more is left to
// the garbage collector.
type readings [16]weak.Pointer[reading]

func (r *readings) at(from uint64) *weak.Pointer[reading] {
	return &r[(from+from/sharedEvents)%uint64(len(r))]
}

// shares tells whether others may read what the watcher reads: it sees all of the resource or of a namespace, and has a goroutine
// of its own.
func (w *Watcher) shares() bool {
	return w.ready == nil && !w.resuming && w.broken == nil && !w.query.Latest && w.topic.name == "" && w.query.Selector.Empty()
}

// nextShared is nextLog for a watcher that shares: what another has read at the same place is not read again.
func (w *Watcher) nextShared() (Batch, <-chan struct{}, error) {
	if shared := w.findShared(); shared != nil {
		return shared.batch, nil, nil
	}
	r := readers.Get().(*Reader)
	r.shared, r.changes = true, nil // its own: they stay
	batch, wake, err := w.nextLog(r)
	if r.last.cache != nil {
		batch = w.share(r.last)
	}
	r.shared, r.changes, r.last = false, nil, reading{}
	readers.Put(r)
	return batch, wake, err
}

func (w *Watcher) findShared() *reading {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	shared := c.readings.at(w.position).Value()
	if shared == nil || !shared.suits(w) || !shared.complete && shared.to != c.log.next || !shared.againLocked(w) {
		return nil
	}
	return shared
}

// share lets the others have what was read, with one Memo for all.
func (w *Watcher) share(r reading) Batch {
	shared := &r
	shared.batch.Memo = new(Memo)
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.readings.at(r.from) = weak.Make(shared)
	return shared.batch
}
