package watchcache

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"revtail/etcdstore"
	"revtail/gateway/access/cputime"
)

// maxCoalesced bounds the bytes of a coalescer, approximately. Later events are coalesced after these are delivered.
const maxCoalesced = 256 << 10

// coalescer merges the events that a slow watcher with WatchQuery.Latest has not received: one event for each object, from the
// state that the client has to the newest one.
type coalescer struct {
	objects   map[string]*coalescedEvent // by path
	events    int                        // number of events added
	bytes     int
	delivered etcdstore.Revision // the watcher has delivered everything up to here
	through   etcdstore.Revision // the events up to here were added

	pending []*coalescedEvent // events to deliver, by revision; nil: events are still added
}

// coalescedEvent merges the events of one object.
type coalescedEvent struct {
	event
	skipped int // number of merged events, without the last one
	order   int // position among the events of all objects
}

func (g *coalescer) hasPending() bool { return g != nil && g.pending != nil }

func (g *coalescer) add(e *event) {
	path := e.object().path
	merged := g.objects[path]
	if merged == nil {
		merged = &coalescedEvent{event: event{previous: e.previous}, skipped: -1}
		g.objects[path] = merged
	}
	g.bytes -= merged.size()
	g.events++
	merged.revision, merged.current, merged.order = e.revision, e.current, g.events
	if merged.current == nil && merged.previous == nil {
		merged.previous = e.previous // created and deleted: the client gets DELETED all the same
	}
	merged.unreadable = cmp.Or(merged.unreadable, e.unreadable)
	merged.skipped++
	g.bytes += merged.size()
}

// sort ends the adding; the events are delivered next.
func (g *coalescer) sort() {
	g.pending = slices.SortedFunc(maps.Values(g.objects), func(a, b *coalescedEvent) int { return cmp.Compare(a.order, b.order) })
	g.objects = nil
}

// coalesce adds events in their order; after is the revision before the first one. It returns true when they must be delivered
// before more are added.
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

// coalesceLog adds the further events of the log. The next read returns its error.
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

// coalesceHistory adds events of etcd's history, until the history meets the log or the coalescer is full. ctx may end.
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

// nextCoalesced delivers whole revisions of the coalesced events. Through is complete in this sense: of each object the client has
// the state as of Through, or gets a newer one.
func (w *Watcher) nextCoalesced(turn *cputime.Turn, r *Reader) Batch {
	g := w.coalescer
	r.changes = r.changes[:0]
	for bytes := 0; len(g.pending) > 0; g.pending = g.pending[1:] {
		one := g.pending[0]
		if full := len(r.changes) >= batchEvents || bytes >= batchBytes; full && one.revision != g.delivered {
			return Batch{Changes: r.changes, Through: g.delivered}
		}
		change, ok, err := w.changeFor(turn, &one.event)
		if err != nil {
			w.eventErr, w.through, w.coalescer = err, one.revision-1, nil
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
