package watchcache

import (
	"errors"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/filter"
)

// Reader holds the batch of a watcher. A goroutine that serves many watchers uses one Reader for all, without allocations.
type Reader struct {
	events  []*event
	changes []Change
	shared  sharedBatch
	partial bool // the watcher had a part of the events before, so they are not shared
	limit   *WorkLimit
}

// readerPool is for watchers with their own goroutine.
var readerPool = sync.Pool{New: func() any { return new(Reader) }}

// Poll is Watcher.Poll for a watcher that has CaughtUp and is attached. After an empty Batch the watcher waits, or is no longer
// CaughtUp; after another Batch it may be Waiting too. The Batch is valid until the next call. same: it is the batch of
// the previous call, for another watcher.
func (r *Reader) Poll(w *Watcher) (batch Batch, same bool, err error) {
	if w.err != nil {
		return Batch{}, false, w.err
	}
	if r.shared.reuse(w, r.limit) {
		return r.shared.batch, true, nil
	}
	if r.limit != nil && w.query.Latest && w.query.chargeable() { // what a coalescer holds is not estimated
		return Batch{}, false, ErrTooMuchWork
	}
	for {
		batch, _, err = w.nextLog(r)
		if errors.Is(err, ErrTooMuchWork) {
			return Batch{}, false, err
		}
		if err != nil {
			w.err = err
		}
		if len(batch.Changes) > 0 || w.Waiting() || !w.CaughtUp() {
			return batch, false, err
		}
	}
}

// nextLog delivers from the log, or opens etcd's history when the log does not hold the events.
func (w *Watcher) nextLog(r *Reader) (Batch, <-chan struct{}, error) {
	r.shared.cache = nil
	if w.eventErr != nil {
		return Batch{}, nil, w.eventErr
	}
	if w.coalescer.hasPending() {
		turn := r.turn(w)
		defer turn.End()
		return w.nextCoalesced(&turn, r), nil, w.cache.checkGeneration(w.generation, w.through)
	}
	delivered := w.through
	from, complete, wake, err := w.read(r)
	if errors.Is(err, errLogTruncated) {
		after := w.through
		if w.resuming {
			after = max(after-1, 1)
		}
		w.openHistory(after)
		return Batch{Through: w.through}, nil, nil
	}
	if err != nil {
		return Batch{}, nil, err
	}
	turn := r.turn(w)
	defer turn.End()
	if later := w.resumeEvents(&turn, r.events); len(later) < len(r.events) {
		r.events, r.partial = later, true
	}
	if w.query.Latest && complete {
		w.coalesceLog(r, delivered)
		return w.nextCoalesced(&turn, r), nil, nil
	}
	r.changes = w.appendChanges(&turn, r.changes[:0], r.events)
	batch := Batch{Changes: r.changes, Through: w.through, Received: receivedAt(r.changes, r.events)}
	if len(batch.Changes) > 0 && !r.partial && w.query.Selector.Empty() && w.eventErr == nil {
		r.shared = sharedBatch{cache: w.cache, scope: w.wakeKey.scope, filter: w.query.Filter, encoding: w.query.Encoding, from: from, to: w.position, batch: batch}
	}
	return batch, wake, nil
}

// receivedAt is the time at which the first of the changes, which are made from the events, came from the store.
func receivedAt(changes []Change, events []*event) time.Time {
	for _, e := range events {
		if len(changes) > 0 && e.revision == changes[0].Revision {
			return e.received
		}
	}
	return time.Time{}
}

// appendChanges appends the events that match the query of the watcher. An event that cannot be shown, and
// an error of the filter or the turn, end the watch after the revision before.
func (w *Watcher) appendChanges(turn *cputime.Turn, changes []Change, events []*event) []Change {
	for _, e := range events {
		if !w.wakeKey.contains(e.object()) {
			continue
		}
		change, ok, err := w.changeFor(turn, e)
		if err != nil {
			w.eventErr, w.through = err, e.revision-1
			return changesBefore(e.revision, changes)
		}
		if ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// changeFor is the event for the watcher. The turn pays for its evaluation.
func (w *Watcher) changeFor(turn *cputime.Turn, e *event) (Change, bool, error) {
	if w.query.chargeable() {
		if err := turn.Continue(); err != nil {
			return Change{}, false, err
		}
	}
	change, ok, err := e.changeFor(&w.query, w.cache)
	if ok && err == nil && w.query.Encoding != nil {
		change.Encoded, err = e.encode(w.query.Encoding, change.Object)
	}
	return change, ok, err
}

// changesBefore drops the changes of a revision from the end.
func changesBefore(revision etcdstore.Revision, changes []Change) []Change {
	for len(changes) > 0 && changes[len(changes)-1].Revision >= revision {
		changes = changes[:len(changes)-1]
	}
	return changes
}

var errLogTruncated = errors.New("the log has moved on")

// read reads the next events and advances the position; from is the position of the first one, and complete says that the batch is
// full. At the end of the log the watcher waits: wake gets a value when the log has more, unless the watcher is attached.
func (w *Watcher) read(r *Reader) (from uint64, complete bool, wake <-chan struct{}, err error) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	r.events = r.events[:0]
	ended := c.checkServingLocked(w.generation, w.through, w.query.Own)
	if ended != nil && !errors.Is(ended, ErrStopped) {
		return 0, false, nil, ended
	}
	w.leaveWaitListLocked()
	if w.position < c.log.first {
		if w.through < c.log.floor || w.resuming && w.through == c.log.floor {
			if ended != nil {
				return 0, false, nil, ended
			}
			c.counters.HistoryReads++
			return 0, false, nil, errLogTruncated
		}
		w.seekLocked()
	}
	from, delivered := w.position, w.through
	events := c.log.read(r.events, from, batchEvents, batchBytes)
	if ended == nil && !r.limit.take(w, events) {
		return 0, false, nil, ErrTooMuchWork
	}
	w.position += uint64(len(events))
	if complete = w.position < c.log.next; complete {
		w.through = max(delivered, events[len(events)-1].revision)
	} else {
		w.through = max(delivered, c.through)
	}
	r.events = eventsAfter(delivered, events)
	r.partial = len(r.events) < len(events)
	switch {
	case len(events) > 0 && ended == nil:
		w.waitIfPublishedLocked()
	case len(events) > 0: // the next read returns the error
	case ended != nil:
		return 0, false, nil, ended
	default:
		wake = w.waitLocked()
	}
	return from, complete, wake, nil
}

// seekLocked finds the position in the log.
func (w *Watcher) seekLocked() {
	log := &w.cache.log
	w.position = log.after(w.through)
	if w.resuming { // resumeEvents decides, without the lock
		if begin := log.after(w.through - 1); begin < w.position {
			w.position, w.through = begin, w.through-1
		} else {
			w.resuming = false
		}
	}
}

// resumeEvents drops the events that a resuming client has. A client may have only a part of its revision, when several keys
// changed in it: the client then gets all of this revision again. Of a single change the client has all.
func (w *Watcher) resumeEvents(turn *cputime.Turn, events []*event) []*event {
	if !w.resuming {
		return events
	}
	w.resuming = false
	later := eventsAfter(w.query.After, events)
	if same := events[:len(events)-len(later)]; w.countVisible(turn, same) > 1 {
		return events
	}
	return later
}

// countVisible counts the events that match the query of the watcher. An error counts, because the client gets it.
func (w *Watcher) countVisible(turn *cputime.Turn, events []*event) (n int) {
	for _, e := range events {
		if w.wakeKey.contains(e.object()) {
			if _, ok, err := w.changeFor(turn, e); ok || err != nil {
				n++
			}
		}
	}
	return n
}

// eventsAfter drops the events up to a revision: etcd's history, which can be ahead of the log, has delivered them.
func eventsAfter(revision etcdstore.Revision, events []*event) []*event {
	for len(events) > 0 && events[0].revision <= revision {
		events = events[1:]
	}
	return events
}

// sharedBatch is the last batch that a Reader has read from the log: a watcher at the same position gets the same batch.
type sharedBatch struct {
	cache    *Cache // nil: no batch to share
	scope    scope
	filter   *filter.Filter
	encoding Encoding
	from, to uint64
	batch    Batch
}

// reuse moves a watcher over the batch if the watcher would read the same, and the limit permits to encode it.
func (r *sharedBatch) reuse(w *Watcher, limit *WorkLimit) bool {
	c := w.cache
	if c != r.cache || w.wakeKey.scope != r.scope || w.query.Filter != r.filter || w.query.Encoding != r.encoding || !w.query.Selector.Empty() ||
		w.query.Latest || w.resuming || w.eventErr != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.leaveWaitListLocked()
	if c.stopped || c.liveness.expired && !w.query.Own || w.generation != c.generation || w.position != r.from || w.through >= r.batch.Changes[0].Revision {
		return false
	}
	if !limit.takeShared(w, r.batch.Changes) {
		return false
	}
	w.position, w.through = r.to, r.batch.Through
	w.waitIfPublishedLocked()
	return true
}
