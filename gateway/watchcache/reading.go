package watchcache

import "revtail/gateway/watchcache/filter"

// reading is what a Reader has read of the log: another watcher that stands where it began gets the same.
type reading struct {
	cache    *Cache // nil: nobody else gets the same
	scope    scope
	filter   *filter.Filter
	from, to uint64 // positions
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
	w.wakeUpLocked()
	if c.stopped || c.contact.lost && !w.query.Own || w.era != c.era || w.position != r.from || w.through >= r.batch.Changes[0].Revision {
		return false
	}
	w.position, w.through = r.to, r.batch.Through
	w.restLocked()
	return true
}

// suits tells whether the watcher looks at the same, and selects as little or by the same filter.
func (r *reading) suits(w *Watcher) bool {
	return w.topic.scope == r.scope && w.query.Filter == r.filter
}
