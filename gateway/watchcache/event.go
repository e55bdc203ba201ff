package watchcache

import (
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache/selector"
)

// event is one change in the log, shared by all watchers.
type event struct {
	revision etcdstore.Revision
	current  *Object   // nil: the object is gone, or cannot be shown any more
	previous *Object   // nil: the object is new, or could not be shown before
	received time.Time // from the store; the zero time: it is one of the past
	memory   int       // what the event holds and nothing else does, in bytes; about

	filterResults filterResults

	deleteOnce sync.Once
	deleted    *Object // previous with the event's revision; made when the first watcher needs it
}

// eventMemory is what an event holds beside documents: itself, two objects and their paths.
const eventMemory = 400

// newEvent is nil when the change shows in no watch: neither state can be shown. Of an object whose memory others share, the
// event has a copy.
func newEvent(revision etcdstore.Revision, current, previous *Object) *event {
	e := &event{revision: revision, current: visible(current), previous: visible(previous).detached(), memory: eventMemory}
	if e.current == nil && e.previous == nil {
		return nil
	}
	if e.current != nil {
		e.memory += len(e.current.JSON)
	}
	if e.previous != nil && e.previous != previous { // else it was current in an event before
		e.memory += len(e.previous.JSON)
	}
	return e
}

func visible(o *Object) *Object {
	if o == nil || !o.Shown() {
		return nil
	}
	return o
}

// object is one of the two states: both have the same namespace and name.
func (e *event) object() *Object {
	if e.current != nil {
		return e.current
	}
	return e.previous
}

func (e *event) deletedObject() *Object {
	e.deleteOnce.Do(func() { e.deleted = e.previous.withRevision(e.revision) })
	return e.deleted
}

// Change is an event as one watcher sees it.
type Change struct {
	Type     encoding.EventType
	Revision etcdstore.Revision
	// Object is the new state or, for DELETED, the last one that matched, with Revision as its resourceVersion.
	Object *Object
	// Previous is the state before, of an object that was there, whether or not it matched.
	Previous *Object
	// Skipped is how many changes of the object before this one are not told (WatchQuery.Latest).
	Skipped int
}

// change is the event seen through a selector: an object that starts to match is ADDED, one that stops is DELETED.
func (e *event) selectorChange(s *selector.Selector) (Change, bool) {
	return e.transition(e.current != nil && s.Matches(e.current), e.previous != nil && s.Matches(e.previous))
}

// transition is the event for a client that is to see the new state, the one before, both, or neither.
func (e *event) transition(is, was bool) (Change, bool) {
	switch {
	case is && was:
		return Change{Type: encoding.Modified, Revision: e.revision, Object: e.current, Previous: e.previous}, true
	case is:
		return Change{Type: encoding.Added, Revision: e.revision, Object: e.current, Previous: e.previous}, true
	case was:
		return Change{Type: encoding.Deleted, Revision: e.revision, Object: e.deletedObject(), Previous: e.previous}, true
	}
	return Change{}, false
}
