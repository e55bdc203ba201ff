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
	current  *Object   // nil: deleted, or not decodable any more
	previous *Object   // nil: new, or not decodable before
	received time.Time // from the store; zero for events of the past
	memory   int       // approximate bytes that only this event holds

	filterResults filterResults

	deleteOnce sync.Once
	deleted    *Object // previous with the event's revision, for the first watcher that needs it
}

// eventMemory is the size of an event without documents: itself, two objects and their paths.
const eventMemory = 400

// newEvent returns nil when neither state can be shown. The event gets a copy of an object that shares memory with others.
func newEvent(revision etcdstore.Revision, current, previous *Object) *event {
	e := &event{revision: revision, current: visible(current), previous: visible(previous).detached(), memory: eventMemory}
	if e.current == nil && e.previous == nil {
		return nil
	}
	if e.current != nil {
		e.memory += len(e.current.JSON)
	}
	if e.previous != nil && e.previous != previous { // otherwise an earlier event counts it
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

// object is one of the two states; both have the same namespace and name.
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
	// Object is the new state. Of DELETED it is the last state that matched, with Revision as its resourceVersion.
	Object *Object
	// Previous is the state before, of an object that existed, whether or not it matched.
	Previous *Object
	// Skipped counts the earlier changes of the object that WatchQuery.Latest left out.
	Skipped int
}

// selectorChange is the event seen through a selector: an object that starts to match is ADDED, one that stops is DELETED.
func (e *event) selectorChange(s *selector.Selector) (Change, bool) {
	return e.transition(e.current != nil && s.Matches(e.current), e.previous != nil && s.Matches(e.previous))
}

// transition is the event for a client that sees the new state, the state before, both, or neither.
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
