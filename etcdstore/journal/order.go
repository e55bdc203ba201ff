package journal

import (
	"fmt"
	"slices"
	"strings"

	"revtail/etcdstore"
)

// order checks that the lines of a range are in the order of an export: the state at the oldest revision, and events, with the state after each gap. A
// difference is to the state of the key that was written before.
type order struct {
	known  Range
	at     etcdstore.Revision // of the last event, or at which the states are that are read; zero: none
	states bool               // the last line was a state
	key    string             // of the last line
	keys   map[string]bool    // of the events of the revision
}

// snapshot returns the revision at which the state is that a revision is a part of; false: it is an event.
func (r Range) snapshot(revision etcdstore.Revision) (etcdstore.Revision, bool) {
	if revision <= r.Oldest {
		return r.Oldest, true
	}
	for _, gap := range r.Gaps {
		if revision > gap.After && revision <= gap.Until {
			return gap.Until, true
		}
	}
	return 0, false
}

func (o *order) state(c *changeLine) error {
	at, ok := o.known.snapshot(c.Revision)
	switch {
	case !ok:
		return fmt.Errorf("the state of %q at revision %d: want an event, because the range begins before, and has no gap there", c.key(), c.Revision)
	case at < o.at || at == o.at && !o.states || at == o.at && c.key() <= o.key:
		return fmt.Errorf("the state of %q at revision %d: want the states of a revision before its events, in the order of their keys", c.key(), c.Revision)
	}
	o.at, o.states, o.key = at, true, c.key()
	return o.prefix(c)
}

func (o *order) event(c *changeLine) error {
	same := c.Revision == o.at && !o.states
	switch {
	case !o.known.hasEvent(c.Revision):
		return fmt.Errorf("the event of %q at revision %d: want one of a revision that the range has, outside of its gaps", c.key(), c.Revision)
	case c.Revision < o.at:
		return fmt.Errorf("the event of %q at revision %d: want events in the order of their revisions", c.key(), c.Revision)
	case same && o.keys[c.key()]:
		return fmt.Errorf("%q has two events of revision %d: want one", c.key(), c.Revision)
	case !same:
		o.keys = map[string]bool{}
	}
	o.at, o.states, o.key = c.Revision, false, c.key()
	o.keys[c.key()] = true
	return o.prefix(c)
}

func (o *order) prefix(c *changeLine) error {
	excluded := func(except string) bool { return strings.HasPrefix(c.key(), except) }
	if !strings.HasPrefix(c.key(), o.known.Prefix) || slices.ContainsFunc(o.known.Except, excluded) {
		return fmt.Errorf("%q is not in the range %q, or excluded", c.key(), o.known.Prefix)
	}
	return nil
}
