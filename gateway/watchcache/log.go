package watchcache

import (
	"cmp"
	"slices"
	"sort"

	"revtail/etcdstore"
)

const (
	// maxEvents (a power of two) bounds the length of the log. Its bytes are an eighth of the state's, within the bounds.
	maxEvents = 16 << 10
	minBytes  = 8 << 20
	maxBytes  = 64 << 20
	// minEvents is the first size of the ring, because most resources are quiet.
	minEvents = 64
)

// log is a ring of the most recent events. Each event has a position; positions grow by one and are never used again, not even
// after a reset. Its methods need the cache's lock.
type log struct {
	ring      []*event // its length is a power of two; position p has index p modulo the length
	first     uint64   // position of the oldest event
	next      uint64   // position of the next event
	bytes     int      // of all events
	byteLimit int      // of bytes, unless it is less than minBytes
	limit     int      // of the ring's length; zero: maxEvents
	// floor: the log holds every event later than this revision.
	floor etcdstore.Revision
}

// reset drops all events; the log is complete after floor. Every earlier position becomes invalid, because enough are skipped for
// prepend and one more. Position zero is never used.
func (l *log) reset(floor etcdstore.Revision) {
	limit := cmp.Or(l.limit, maxEvents)
	next := l.next + uint64(limit) + 1
	*l = log{ring: make([]*event, min(minEvents, limit)), first: next, next: next, byteLimit: l.byteLimit, limit: limit, floor: floor}
}

func (l *log) at(position uint64) *event { return l.ring[position&uint64(len(l.ring)-1)] }

func (l *log) append(e *event) {
	if l.next-l.first == uint64(len(l.ring)) {
		if len(l.ring) < l.limit {
			l.grow()
		} else {
			l.drop()
		}
	}
	l.ring[l.next&uint64(len(l.ring)-1)] = e
	l.next++
	l.bytes += e.memory
	for l.bytes > max(l.byteLimit, minBytes) && l.first < l.next-1 {
		l.drop()
	}
}

// prepend puts events before those that the log holds, as many of the newest as fit. The log would be complete after floor with all of
// them. It is called once after a reset, while the log has dropped no event.
func (l *log) prepend(older []*event, floor etcdstore.Revision) {
	for _, e := range slices.Backward(older) {
		if l.next-l.first == uint64(l.limit) || l.bytes+e.memory > max(l.byteLimit, minBytes) {
			l.floor = e.revision
			return
		}
		if l.next-l.first == uint64(len(l.ring)) {
			l.grow()
		}
		l.first--
		l.ring[l.first&uint64(len(l.ring)-1)] = e
		l.bytes += e.memory
	}
	l.floor = floor
}

// resize sets the limit for a state of that size.
func (l *log) resize(state int) { l.byteLimit = min(state/8, maxBytes) }

func (l *log) grow() {
	larger := make([]*event, 2*len(l.ring))
	for p := l.first; p < l.next; p++ {
		larger[p&uint64(len(larger)-1)] = l.at(p)
	}
	l.ring = larger
}

func (l *log) drop() {
	e := l.at(l.first)
	l.ring[l.first&uint64(len(l.ring)-1)] = nil
	l.first++
	l.bytes -= e.memory
	l.floor = e.revision
}

// after is the position of the first event later than a revision, which must not be less than floor.
func (l *log) after(revision etcdstore.Revision) uint64 {
	n := sort.Search(int(l.next-l.first), func(i int) bool { return l.at(l.first+uint64(i)).revision > revision })
	return l.first + uint64(n)
}

// read appends about limit events from a position on, or fewer when they reach the bytes; it never splits a revision.
func (l *log) read(events []*event, position uint64, limit, bytes int) []*event {
	for p := position; p < l.next; p++ {
		e := l.at(p)
		if (limit <= 0 || bytes <= 0) && (p == position || e.revision != l.at(p-1).revision) {
			break
		}
		events = append(events, e)
		limit--
		bytes -= len(e.object().JSON)
	}
	return events
}
