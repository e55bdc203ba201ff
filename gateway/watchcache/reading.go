package watchcache

import "revtail/gateway/watchcache/filter"

// reading is what a Reader has read of the log: another watcher that stands where it began gets the same.
type sharedBatch struct {
	cache    *Cache // nil: nobody else gets the same
	scope    scope
	filter   *filter.Filter
	from, to uint64 // positions
	batch    Batch
}

// again moves the cursor over what was read, if that is what the watcher would read.
func (r *sharedBatch) reuse(w *Watcher) bool {
	c := w.cache
	if c != r.cache || !r.selectsSame(w) || w.query.Latest || w.resuming || w.filterErr != nil || !w.query.Selector.Empty() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.leaveWaitListLocked()
	if c.stopped || c.liveness.expired && !w.query.Own || w.generation != c.generation || w.position != r.from || w.through >= r.batch.Changes[0].Revision {
		return false
	}
	w.position, w.through = r.to, r.batch.Through
	w.waitIfPublishedLocked()
	return true
}

// suits tells whether the watcher looks at the same, and selects as little or by the same filter.
func (r *sharedBatch) selectsSame(w *Watcher) bool {
	return w.wakeKey.scope == r.scope && w.query.Filter == r.filter
}
