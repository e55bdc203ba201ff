package watchcache

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"revtail/etcdstore"
)

// maxGathered is about how many bytes of objects a watcher holds that wants the newest of each only. What does not fit is
// gathered when these are delivered.
const maxCoalesced = 256 << 10

// gathering is what waits for a watcher that is late and wants the newest of each object only (WatchQuery.Latest): for each
// object one event, from the state that its client has to the newest one.
type coalescer struct {
	objects   map[string]*coalescedEvent // by path
	events    int                        // that were gathered
	bytes     int
	delivered etcdstore.Revision // up to which the watcher has delivered
	through   etcdstore.Revision // of what was gathered

	pending []*coalescedEvent // to be delivered, by revision; nil: still being gathered
}

// gathered is the events of one object as one.
type coalescedEvent struct {
	event
	skipped int // how many others there were
	order   int // among the events of all objects
}

// isReady tells whether there is something gathered to be delivered.
func (g *coalescer) hasPending() bool { return g != nil && g.pending != nil }

// add enters an event.
func (g *coalescer) add(e *event) {
	path := e.object().path
	was := g.objects[path]
	if was == nil {
		was = &coalescedEvent{event: event{previous: e.previous}, skipped: -1}
		g.objects[path] = was
	}
	g.bytes -= was.size()
	g.events++
	was.revision, was.current, was.order = e.revision, e.current, g.events
	if was.current == nil && was.previous == nil {
		was.previous = e.previous // made and deleted: that it is gone is told all the same
	}
	was.skipped++
	g.bytes += was.size()
}

func (g *coalescedEvent) size() (n int) {
	for _, o := range []*Object{g.current, g.previous} {
		if o != nil {
			n += len(o.JSON)
		}
	}
	return n
}

// sort ends the gathering: what was gathered is delivered next.
func (g *coalescer) sort() {
	g.pending = slices.SortedFunc(maps.Values(g.objects), func(a, b *coalescedEvent) int { return cmp.Compare(a.order, b.order) })
	g.objects = nil
}

// gather enters events, in their order, of which the first came after a revision; full: these are to be delivered before more
// is gathered.
func (w *Watcher) coalesce(after etcdstore.Revision, events []*event) (full bool) {
	if w.coalescer == nil {
		w.coalescer = &coalescer{objects: make(map[string]*coalescedEvent), delivered: after}
	}
	for _, e := range events {
		if w.wakeKey.contains(e.object()) {
			w.coalescer.add(e)
		}
	}
	w.coalescer.through = w.through
	return w.coalescer.bytes >= maxCoalesced
}

// gatherLog gathers what the log holds more than was just read. What fails is left to the next reading.
func (w *Watcher) coalesceLog(r *Reader, after etcdstore.Revision) {
	full := w.coalesce(after, r.events)
	for more := true; more && !full; full = w.coalesce(after, r.events) {
		var err error
		if _, more, _, err = w.read(r); err != nil {
			break
		}
	}
	w.coalescer.sort()
}

// gatherPast gathers from etcd's history, until it meets the log or there is enough. An ended ctx loses nothing.
func (w *Watcher) coalesceHistory(ctx context.Context) error {
	for full := false; !full && w.history != nil; {
		after := w.through
		events, err := w.readHistory(ctx)
		if err != nil {
			return err
		}
		full = w.coalesce(after, events)
	}
	w.coalescer.sort()
	return nil
}

// nextGathered delivers a step of what was gathered, whole revisions. What it says to be complete is so for a client that wants no
// more: of each object it has the newest state up to there, or gets a newer one.
func (w *Watcher) nextCoalesced(r *Reader) Batch {
	g := w.coalescer
	r.changes = r.changes[:0]
	for bytes := 0; len(g.pending) > 0; g.pending = g.pending[1:] {
		one := g.pending[0]
		if full := len(r.changes) >= batchEvents || bytes >= batchBytes; full && one.revision != g.delivered {
			return Batch{Changes: r.changes, Through: g.delivered}
		}
		change, ok, err := one.changeFor(&w.query, w.cache)
		if err != nil {
			w.filterErr, w.through, w.coalescer = err, one.revision-1, nil
			return Batch{Changes: changesBefore(one.revision, r.changes), Through: w.through}
		}
		g.delivered = one.revision
		bytes += one.size()
		if ok {
			change.Skipped = one.skipped
			r.changes = append(r.changes, change)
		}
	}
	w.coalescer = nil
	return Batch{Changes: r.changes, Through: g.through}
}
