package watchcache

import (
	"cmp"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache/filter"
)

// event is one change in the log, shared by all watchers.
type event struct {
	revision etcdstore.Revision
	current  *Object   // nil: deleted, or no longer decodable
	previous *Object   // nil: new, or not decodable before
	received time.Time // from the store; zero for events of the past
	memory   int       // approximate bytes that only this event holds
	// unreadable is the state, of the two, whose value cannot be decrypted; nil: both are known.
	unreadable *Object

	results filter.Results // of the filters of all watchers

	encodings encodings // of its objects, for all watchers

	deleteOnce sync.Once
	deleted    *Object // previous with the event's revision, for the first watcher that needs it
}

// eventMemory is the size of an event without documents: itself, two objects and their paths.
const eventMemory = 400

// newEvent returns nil when neither state can be shown, unless one of them is hidden because it cannot be decrypted. The event gets a copy of an object that shares memory with others.
func newEvent(revision etcdstore.Revision, current, previous *Object) *event {
	e := &event{revision: revision, current: visible(current), previous: visible(previous).detached(), memory: eventMemory}
	e.unreadable = cmp.Or(unreadable(current), unreadable(previous))
	if e.current == nil && e.previous == nil && e.unreadable == nil {
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
func (e *event) object() *Object { return cmp.Or(e.current, e.previous, e.unreadable) }

func (e *event) deletedObject() *Object {
	e.deleteOnce.Do(func() { e.deleted = e.previous.withRevision(e.revision) })
	return e.deleted
}

// Change is an event for one watcher.
type Change struct {
	Type     encoding.EventType
	Revision etcdstore.Revision
	// Object is the new state. Of DELETED it is the last state that matched, with Revision as its resourceVersion.
	Object *Object
	// Encoded is Object in the form of WatchQuery.Encoding; nil: the query has none.
	Encoded []byte
	// Previous is the state before, of an object that existed, whether or not it matched.
	Previous *Object
	// Skipped counts the earlier changes of the object that WatchQuery.Latest left out.
	Skipped int
}

// transition is the event for a query that matches the new state, the state before, both, or neither: an object that starts to match is
// ADDED, one that stops is DELETED.
func (e *event) transition(curMatches, prevMatches bool) (Change, bool) {
	switch {
	case curMatches && prevMatches:
		return Change{Type: encoding.Modified, Revision: e.revision, Object: e.current, Previous: e.previous}, true
	case curMatches:
		return Change{Type: encoding.Added, Revision: e.revision, Object: e.current, Previous: e.previous}, true
	case prevMatches:
		return Change{Type: encoding.Deleted, Revision: e.revision, Object: e.deletedObject(), Previous: e.previous}, true
	}
	return Change{}, false
}

// changeFor is the event for a watcher with a query. A filter of states makes transitions, as a selector does; a filter of
// events keeps or drops the change.
func (e *event) changeFor(by *WatchQuery, in *Cache) (Change, bool, error) {
	if e.unreadable != nil && !by.Own {
		return Change{}, false, &UnreadableEventError{Revision: e.revision, Reason: e.unreadable.Unreadable()}
	}
	if f := by.Filter; f == nil || f.OfEvents() {
		change, ok := e.transition(e.current != nil && by.Selector.Matches(e.current), e.previous != nil && by.Selector.Matches(e.previous))
		if f == nil || !ok {
			return change, ok, nil
		}
		ok, err := e.evaluate(f, partOf(change.Type), change, in)
		return change, ok, err
	}
	curMatches, err := e.matchesState(by, filter.Current, e.current, in)
	if err != nil {
		return Change{}, false, err
	}
	prevMatches, err := e.matchesState(by, filter.Previous, e.previous, in)
	if err != nil {
		return Change{}, false, err
	}
	change, ok := e.transition(curMatches, prevMatches)
	return change, ok, nil
}

func (e *event) matchesState(by *WatchQuery, part filter.Part, o *Object, in *Cache) (bool, error) {
	if o == nil || !by.Selector.Matches(o) {
		return false, nil
	}
	return e.evaluate(by.Filter, part, Change{Type: encoding.Added, Object: o}, in)
}

// evaluate runs a filter on a change, once for all watchers with the same filter. The error is a *filter.CostError.
func (e *event) evaluate(f *filter.Filter, part filter.Part, shown Change, in *Cache) (bool, error) {
	return e.results.Match(f, part, func() filter.Input { return shown.input(in) })
}

// part is the part of the event that a filter of events evaluates for a query that matches both states.
func (e *event) part() filter.Part {
	switch {
	case e.previous == nil:
		return filter.Addition
	case e.current == nil:
		return filter.Deletion
	}
	return filter.Modification
}

// size is the bytes of both states.
func (e *event) size() (n int) {
	for _, o := range []*Object{e.current, e.previous} {
		if o != nil {
			n += len(o.JSON)
		}
	}
	return n
}

func partOf(t encoding.EventType) filter.Part {
	switch t {
	case encoding.Added:
		return filter.Addition
	case encoding.Deleted:
		return filter.Deletion
	}
	return filter.Modification
}

// input is a state of a list, or of the initial events, as a filter reads it.
func (o *Object) input(in *Cache) filter.Input {
	return filter.Input{Type: encoding.Added, Key: in.config.Key(o.path), Document: o.JSON}
}

func (c Change) input(in *Cache) filter.Input {
	input := c.Object.input(in)
	input.Type = c.Type
	if c.Previous != nil {
		input.Old = c.Previous.JSON
	}
	return input
}
