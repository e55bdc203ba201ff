package watchcache

import (
	"errors"
	"math"
	"sync"

	"revtail/etcdstore"
)

// Reader is what a watcher's events are read into. A goroutine that serves many watchers has one Reader for all of them, and
// allocates nothing for each.
type Reader struct {
	events  []*event
	changes []Change
	last    reading
}

// readers are those of watchers that have a goroutine of their own.
var readers = sync.Pool{New: func() any { return new(Reader) }}

// reading is what was read last: another watcher that stands where it began gets the same.
type reading struct {
	cache    *Cache // nil: nobody else gets the same
	scope    scope
	from, to uint64 // positions
	batch    Batch
}

// Poll is Watcher.Poll for a watcher that Follows and is attached. An empty Batch says that the watcher sleeps now, or that it
// does not follow any more. The Batch is valid until the next call. same: it is the batch of the call before, which was for
// another watcher.
func (r *Reader) Poll(w *Watcher) (batch Batch, same bool, err error) {
	if w.err != nil {
		return Batch{}, false, w.err
	}
	if again, ok := r.again(w); ok {
		return again, true, nil
	}
	for {
		batch, _, err = w.nextLog(r)
		if err != nil {
			w.err = err
		}
		if len(batch.Changes) > 0 || w.sleeper != nil || !w.Follows() {
			return batch, false, err
		}
	}
}

// again moves the cursor over what was read last, if that is what the watcher would read.
func (r *Reader) again(w *Watcher) (Batch, bool) {
	c, last := w.cache, &r.last
	if c != last.cache || w.topic.scope != last.scope || w.resuming || !w.query.Selector.Empty() {
		return Batch{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.wakeUpLocked()
	if c.stopped || c.contact.lost && !w.query.Own || w.era != c.era || w.position != last.from || w.through >= last.batch.Changes[0].Revision {
		return Batch{}, false
	}
	w.position, w.through = last.to, last.batch.Through
	return last.batch, true
}

// nextLog delivers from the log, or turns to etcd's history when the log does not reach back far enough.
func (w *Watcher) nextLog(r *Reader) (Batch, <-chan struct{}, error) {
	r.last.cache = nil
	delivered := w.through
	from, wake, err := w.read(r)
	if errors.Is(err, errBehind) {
		w.past = &archive{cache: w.cache, era: w.era, scope: w.topic.scope, after: w.through, through: w.through, pause: firstPause}
		if w.resuming {
			w.past.through = max(w.through-1, 1)
		}
		return Batch{Through: w.through}, nil, nil
	}
	if err != nil {
		return Batch{}, nil, err
	}
	r.changes = w.matching(r.changes[:0], r.events)
	batch := Batch{Changes: r.changes, Through: w.through}
	if len(batch.Changes) > 0 && delivered < batch.Changes[0].Revision && w.query.Selector.Empty() {
		r.last = reading{cache: w.cache, scope: w.topic.scope, from: from, to: w.position, batch: batch}
	}
	return batch, wake, nil
}

// matching appends what of the events the watcher sees.
func (w *Watcher) matching(changes []Change, events []*event) []Change {
	for _, e := range events {
		if !w.topic.contains(e.object()) {
			continue
		}
		if change, ok := e.change(w.query.Selector); ok {
			changes = append(changes, change)
		}
	}
	return changes
}

var errBehind = errors.New("the log has moved on")

// read takes the next events and moves the cursor past them; from is where they begin. At the end of the log the watcher goes
// to sleep: wake is closed when it is worth to read again, unless the watcher is attached.
func (w *Watcher) read(r *Reader) (from uint64, wake <-chan struct{}, err error) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	r.events = r.events[:0]
	if c.stopped || c.contact.lost && !w.query.Own {
		return 0, nil, ErrStopped
	}
	if err := c.presentLocked(w.era, w.through); err != nil {
		return 0, nil, err
	}
	w.wakeUpLocked()
	if w.position < c.log.first {
		if w.through < c.log.floor || w.resuming && w.through == c.log.floor {
			return 0, nil, errBehind
		}
		w.findLocked()
	}
	from, delivered := w.position, w.through
	events := c.log.read(r.events, from, batchEvents, batchBytes)
	w.position += uint64(len(events))
	if w.position < c.log.next {
		w.through = max(delivered, events[len(events)-1].revision)
	} else {
		w.through = max(delivered, c.through)
	}
	r.events = laterThan(delivered, events)
	if len(events) == 0 {
		wake = w.sleepLocked()
	}
	return from, wake, nil
}

// findLocked finds the position in the log.
func (w *Watcher) findLocked() {
	log := &w.cache.log
	w.position = log.after(w.through)
	if w.resuming {
		begin := log.after(w.through - 1)
		if events := w.resumeIn(log.read(nil, begin, int(w.position-begin), math.MaxInt)); len(events) > 0 {
			w.position, w.through = begin, w.through-1
		}
	}
}

// resumeIn decides what of the events is new to a client that resumes at a revision. It may have got a part of that revision
// only, when several of its keys changed in it: then the whole of it comes again. Of a single change it has all.
func (w *Watcher) resumeIn(events []*event) []*event {
	if !w.resuming {
		return events
	}
	w.resuming = false
	later := laterThan(w.query.After, events)
	if same := events[:len(events)-len(later)]; len(w.matching(nil, same)) > 1 {
		return events
	}
	return later
}

// laterThan drops what etcd's history has delivered already: it can be ahead of the log.
func laterThan(revision etcdstore.Revision, events []*event) []*event {
	for len(events) > 0 && events[0].revision <= revision {
		events = events[1:]
	}
	return events
}
