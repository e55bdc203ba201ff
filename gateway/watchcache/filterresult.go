package watchcache

import (
	"context"
	"sync"

	"revtail/encoding"
	"revtail/gateway/watchcache/filter"
)

// maxFilterResults bounds the filter results that an event remembers, of 8 bytes each. Results of further filters are computed for
// each watcher.
const maxFilterResults = 256

// filterResult is the result of a filter for an event: the filter's ID, the event state, and the outcome in the low bits.
type filterResult uint64

// eventState is the input of a filter: one of the two states of an event or, for a filter of events, the event by its type.
type eventState uint8

const (
	currentState eventState = iota
	previousState
	addedEvent
	modifiedEvent
	deletedEvent
)

// Outcomes of a filter.
const (
	noMatch = iota
	match
	tooCostly
)

const (
	stateShift  = 2
	filterShift = 5
)

// filterResults are the results for one event.
type filterResults struct {
	mu      sync.Mutex // guards the field below
	results []filterResult
}

func (v *filterResults) find(f *filter.Filter, what eventState) (how int, ok bool) {
	want := filterResult(f.ID()<<filterShift) | filterResult(what)<<stateShift
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, known := range v.results {
		if known&^(1<<stateShift-1) == want {
			return int(known & (1<<stateShift - 1)), true
		}
	}
	return 0, false
}

func (v *filterResults) add(f *filter.Filter, what eventState, how int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.results) < maxFilterResults {
		v.results = append(v.results, filterResult(f.ID()<<filterShift)|filterResult(what)<<stateShift|filterResult(how))
	}
}

// evaluate runs a filter on a change, once for all watchers with the same filter. The error is a *filter.CostError.
func (e *event) evaluate(f *filter.Filter, what eventState, shown Change, in *Cache) (bool, error) {
	how, ok := e.filterResults.find(f, what)
	if !ok {
		f.Evaluating.Lock()
		defer f.Evaluating.Unlock()
		if how, ok = e.filterResults.find(f, what); !ok {
			how = matchFilter(f, shown.input(in))
			e.filterResults.add(f, what, how)
		}
	}
	if how == tooCostly {
		return false, &filter.CostError{Key: in.key(shown.Object.path)}
	}
	return how == match, nil
}

func matchFilter(f *filter.Filter, in filter.Input) int {
	ok, err := f.Matches(context.Background(), in) //nolint:forbidigo // it is asked for all, and bounded by its cost
	switch {
	case err != nil:
		return tooCostly
	case ok:
		return match
	}
	return noMatch
}

// changeFor is the event as a watcher with a query sees it. A filter of states makes transitions, as a selector does; a filter of
// events keeps or drops the change.
func (e *event) changeFor(by *WatchQuery, in *Cache) (Change, bool, error) {
	switch f := by.Filter; {
	case f == nil:
		change, ok := e.selectorChange(by.Selector)
		return change, ok, nil
	case f.OfEvents():
		change, ok := e.selectorChange(by.Selector)
		if ok {
			var err error
			ok, err = e.evaluate(f, eventStateOf(change.Type), change, in)
			return change, ok, err
		}
		return change, false, nil
	}
	is, err := e.matchesState(by, currentState, e.current, in)
	if err != nil {
		return Change{}, false, err
	}
	was, err := e.matchesState(by, previousState, e.previous, in)
	if err != nil {
		return Change{}, false, err
	}
	change, ok := e.transition(is, was)
	return change, ok, nil
}

func (e *event) matchesState(by *WatchQuery, what eventState, o *Object, in *Cache) (bool, error) {
	if o == nil || !by.Selector.Matches(o) {
		return false, nil
	}
	return e.evaluate(by.Filter, what, Change{Type: encoding.Added, Object: o}, in)
}

func eventStateOf(t encoding.EventType) eventState {
	switch t {
	case encoding.Added:
		return addedEvent
	case encoding.Deleted:
		return deletedEvent
	}
	return modifiedEvent
}

// input is a state of a list, or of the initial events, as a filter reads it.
func (o *Object) input(in *Cache) filter.Input {
	return filter.Input{Type: encoding.Added, Key: in.key(o.path), Document: o.JSON}
}

func (c Change) input(in *Cache) filter.Input {
	asked := c.Object.input(in)
	asked.Type = c.Type
	if c.Previous != nil {
		asked.Old = c.Previous.JSON
	}
	return asked
}
