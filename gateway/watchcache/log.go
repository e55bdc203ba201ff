package watchcache

import (
	"cmp"
	"slices"
	"sort"

	"golang.org/x/sync/semaphore"

	"revtail/etcdstore"
)

const (
	// maxEvents (a power of two) bounds the length of the log. Its bytes are an eighth of the state's, within the bounds.
	maxEvents = 16 << 10
	minBytes  = 8 << 20
	maxBytes  = 64 << 20
	// The share of a log is a 32nd of the state's bytes, maxShare at most. The share, or minFree, needs no reserve; minFree is more than waits to be
	// published. Old events stay within the share, or minKept.
	maxShare = 8 << 20
	minFree  = 2 * maxUnpublished
	minKept  = 256 << 10
	// minEvents is the first size of the ring, because most resources are quiet.
	minEvents = 64
)

// log is a ring of the most recent events. Each event has a position; positions grow by one and are never used again, not even
// after a reset. Its methods need the cache's lock.
type log struct {
	ring     []*event // its length is a power of two; position p has index p modulo the length
	first    uint64   // position of the oldest event
	next     uint64   // position of the next event
	recent   uint64   // position at the trim before, or of the oldest event that was added since
	bytes    int      // of all events
	state    int      // bytes of the state beside the log
	reserve  *semaphore.Weighted
	borrowed int // bytes from reserve
	limit    int // of the ring's length; zero: maxEvents
	// floor: the log holds every event later than this revision.
	floor etcdstore.Revision
}

// reset drops all events; the log is complete after floor. Every earlier position becomes invalid, because enough are skipped for
// prepend and one more. Position zero is never used.
func (l *log) reset(floor etcdstore.Revision) {
	limit := cmp.Or(l.limit, maxEvents)
	next := l.next + uint64(limit) + 1
	l.release(0)
	*l = log{
		ring: make([]*event, min(minEvents, limit)), first: next, next: next, recent: next, limit: limit, floor: floor,
		state: l.state, reserve: l.reserve,
	}
}

// byteLimit is the most bytes of all events.
func (l *log) byteLimit() int { return min(max(l.state/8, minBytes), maxBytes) }

// share is that of maxShare, or least.
func (l *log) share(least int) int { return max(min(l.state/32, maxShare), least) }

func (l *log) at(position uint64) *event { return l.ring[position&uint64(len(l.ring)-1)] }

func (l *log) append(e *event) {
	if l.next-l.first == uint64(len(l.ring)) {
		if len(l.ring) < l.limit {
			l.setLength(2 * len(l.ring))
		} else {
			l.drop()
		}
	}
	l.ring[l.next&uint64(len(l.ring)-1)] = e
	l.next++
	l.bytes += e.memory
	for !l.borrow(0) && l.first < l.next-1 {
		l.drop()
	}
}

// borrow takes from the reserve what the events, and as many bytes more, need. It returns false if they are beyond the limit, or the reserve is used up.
func (l *log) borrow(more int) bool {
	if l.bytes+more > l.byteLimit() {
		return false
	}
	missing := l.bytes + more - l.share(minFree) - l.borrowed
	if missing <= 0 {
		return true
	}
	if l.reserve != nil && !l.reserve.TryAcquire(int64(missing)) {
		return false
	}
	l.borrowed += missing
	return true
}

// trim drops events that the log had at the trim before, and that are before a position, except for its share. What they took goes back to the reserve.
func (l *log) trim(before uint64) {
	for l.bytes > l.share(minKept) && l.first < min(l.recent, before) {
		l.drop()
	}
	l.recent = l.next
	l.release(max(l.bytes-l.share(minFree), 0))
	length := len(l.ring)
	for length > minEvents && l.next-l.first < uint64(length/4) {
		length /= 2
	}
	l.setLength(length)
}

// release returns to the reserve what is beyond a number of bytes.
func (l *log) release(needed int) {
	if excess := l.borrowed - needed; excess > 0 {
		if l.reserve != nil {
			l.reserve.Release(int64(excess))
		}
		l.borrowed = needed
	}
}

// prepend puts events before those that the log holds, as many of the newest as fit. The log would be complete after floor with all of
// them. It is called once after a reset, while the log has dropped no event.
func (l *log) prepend(older []*event, floor etcdstore.Revision) {
	for _, e := range slices.Backward(older) {
		if l.next-l.first == uint64(l.limit) || !l.borrow(e.memory) {
			l.floor = e.revision
			return
		}
		if l.next-l.first == uint64(len(l.ring)) {
			l.setLength(2 * len(l.ring))
		}
		l.first--
		l.ring[l.first&uint64(len(l.ring)-1)] = e
		l.recent = min(l.recent, l.first)
		l.bytes += e.memory
	}
	l.floor = floor
}

// setLength sets the length of the ring, which must hold all events.
func (l *log) setLength(length int) {
	if length == len(l.ring) {
		return
	}
	ring := make([]*event, length)
	for p := l.first; p < l.next; p++ {
		ring[p&uint64(length-1)] = l.at(p)
	}
	l.ring = ring
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
