package watchcache

import (
	"context"
	"sync"

	"revtail/encoding"
	"revtail/gateway/watchcache/filter"
)

// maxVerdicts is how many verdicts an event remembers, of 8 bytes each: where more different filters look at it, the later
// ones are evaluated for each watcher.
const maxVerdicts = 256

// verdict is what a filter says about an event: its ID, and below that what was judged, and how.
type verdict uint64

// about is what of an event a filter judges: one of its states or, a filter of events, the event as it is shown.
type about uint8

const (
	theCurrent about = iota
	thePrevious
	theAddition
	theModification
	theDeletion
)

// How a filter can judge.
const (
	matchesNot = iota
	doesMatch
	costsTooMuch
)

const (
	aboutShift  = 2
	filterShift = 5
)

// verdicts are those about one event.
type verdicts struct {
	mu    sync.Mutex // guards the field below
	known []verdict
}

func (v *verdicts) find(f *filter.Filter, what about) (how int, ok bool) {
	want := verdict(f.ID()<<filterShift) | verdict(what)<<aboutShift
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, known := range v.known {
		if known&^(1<<aboutShift-1) == want {
			return int(known & (1<<aboutShift - 1)), true
		}
	}
	return 0, false
}

func (v *verdicts) remember(f *filter.Filter, what about, how int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) < maxVerdicts {
		v.known = append(v.known, verdict(f.ID()<<filterShift)|verdict(what)<<aboutShift|verdict(how))
	}
}

// judge asks a filter about an event as it would be shown, once for all watchers that have the same one. The error is a
// *filter.CostError.
func (e *event) judge(f *filter.Filter, what about, shown Change, in *Cache) (bool, error) {
	how, ok := e.verdicts.find(f, what)
	if !ok {
		f.Evaluating.Lock()
		defer f.Evaluating.Unlock()
		if how, ok = e.verdicts.find(f, what); !ok {
			how = ask(f, shown.input(in))
			e.verdicts.remember(f, what, how)
		}
	}
	if how == costsTooMuch {
		return false, &filter.CostError{Key: in.key(shown.Object.path)}
	}
	return how == doesMatch, nil
}

func ask(f *filter.Filter, in filter.Input) int {
	ok, err := f.Matches(context.Background(), in) //nolint:forbidigo // it is asked for all, and bounded by its cost
	switch {
	case err != nil:
		return costsTooMuch
	case ok:
		return doesMatch
	}
	return matchesNot
}

// seen is the event as a watcher with these selections sees it. A filter of states makes transitions, as a selector does; one of
// events lets an event pass as it is shown without the filter, or does not.
func (e *event) seen(by *WatchQuery, in *Cache) (Change, bool, error) {
	switch f := by.Filter; {
	case f == nil:
		change, ok := e.change(by.Selector)
		return change, ok, nil
	case f.OfEvents():
		change, ok := e.change(by.Selector)
		if ok {
			var err error
			ok, err = e.judge(f, shownAs(change.Type), change, in)
			return change, ok, err
		}
		return change, false, nil
	}
	is, err := e.showsState(by, theCurrent, e.current, in)
	if err != nil {
		return Change{}, false, err
	}
	was, err := e.showsState(by, thePrevious, e.previous, in)
	if err != nil {
		return Change{}, false, err
	}
	change, ok := e.transition(is, was)
	return change, ok, nil
}

func (e *event) showsState(by *WatchQuery, what about, o *Object, in *Cache) (bool, error) {
	if o == nil || !by.Selector.Matches(o) {
		return false, nil
	}
	return e.judge(by.Filter, what, Change{Type: encoding.Added, Object: o}, in)
}

func shownAs(t encoding.EventType) about {
	switch t {
	case encoding.Added:
		return theAddition
	case encoding.Deleted:
		return theDeletion
	}
	return theModification
}

// input is what a filter is asked about a state: that of a list, or the one that a watch begins with.
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
