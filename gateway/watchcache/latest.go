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
const maxGathered = 256 << 10

// gathering is what waits for a watcher that is late and wants the newest of each object only (WatchQuery.Latest): for each
// object one event, from the state that its client has to the newest one.
type gathering struct {
	objects map[string]*gathered // by path
	events  int                  // that were gathered
	bytes   int
	told    etcdstore.Revision // up to which the watcher has delivered
	through etcdstore.Revision // of what was gathered

	ready []*gathered // to be delivered, by revision; nil: still being gathered
}

// gathered is the events of one object as one.
type gathered struct {
	event
	skipped int // how many others there were
	order   int // among the events of all objects
}

// isReady tells whether there is something gathered to be delivered.
func (g *gathering) isReady() bool { return g != nil && g.ready != nil }

// add enters an event.
func (g *gathering) add(e *event) {
	path := e.object().path
	was := g.objects[path]
	if was == nil {
		was = &gathered{event: event{previous: e.previous}, skipped: -1}
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

func (g *gathered) size() (n int) {
	for _, o := range []*Object{g.current, g.previous} {
		if o != nil {
			n += len(o.JSON)
		}
	}
	return n
}

// sort ends the gathering: what was gathered is delivered next.
func (g *gathering) sort() {
	g.ready = slices.SortedFunc(maps.Values(g.objects), func(a, b *gathered) int { return cmp.Compare(a.order, b.order) })
	g.objects = nil
}

// gather enters events, in their order, of which the first came after a revision; full: these are to be delivered before more
// is gathered.
func (w *Watcher) gather(after etcdstore.Revision, events []*event) (full bool) {
	if w.gathering == nil {
		w.gathering = &gathering{objects: make(map[string]*gathered), told: after}
	}
	for _, e := range events {
		if w.topic.contains(e.object()) {
			w.gathering.add(e)
		}
	}
	w.gathering.through = w.through
	return w.gathering.bytes >= maxGathered
}

// gatherLog gathers what the log holds more than was just read. What fails is left to the next reading.
func (w *Watcher) gatherLog(r *Reader, after etcdstore.Revision) {
	full := w.gather(after, r.events)
	for more := true; more && !full; full = w.gather(after, r.events) {
		var err error
		if _, more, _, err = w.read(r); err != nil {
			break
		}
	}
	w.gathering.sort()
}

// gatherPast gathers from etcd's history, until it meets the log or there is enough. An ended ctx loses nothing.
func (w *Watcher) gatherPast(ctx context.Context) error {
	for full := false; !full && w.past != nil; {
		after := w.through
		events, err := w.readPast(ctx)
		if err != nil {
			return err
		}
		full = w.gather(after, events)
	}
	w.gathering.sort()
	return nil
}

// nextGathered delivers a step of what was gathered, whole revisions. What it says to be complete is so for a client that wants no
// more: of each object it has the newest state up to there, or gets a newer one.
func (w *Watcher) nextGathered(r *Reader) Batch {
	g := w.gathering
	r.changes = r.changes[:0]
	for bytes := 0; len(g.ready) > 0; g.ready = g.ready[1:] {
		one := g.ready[0]
		if full := len(r.changes) >= batchEvents || bytes >= batchBytes; full && one.revision != g.told {
			return Batch{Changes: r.changes, Through: g.told}
		}
		change, ok, err := one.seen(&w.query, w.cache)
		if err != nil {
			w.broken, w.through, w.gathering = err, one.revision-1, nil
			return Batch{Changes: before(one.revision, r.changes), Through: w.through}
		}
		g.told = one.revision
		bytes += one.size()
		if ok {
			change.Skipped = one.skipped
			r.changes = append(r.changes, change)
		}
	}
	w.gathering = nil
	return Batch{Changes: r.changes, Through: g.through}
}
