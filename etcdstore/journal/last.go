package journal

import (
	"context"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// LastOptions select events of the keys with a prefix.
type LastOptions struct {
	After, Through etcdstore.Revision // the events after After, through Through
	Exact          bool               // only the key that equals the prefix
	Count          int                // at least 1
}

// Last returns the revision after which the last o.Count of the selected events of a range are, with all events of the first revision; o.After if there are not
// as many, and how many it found. It reads no values. States with which the range or the part after a gap begins may be counted as events.
func (j *Journal) Last(ctx context.Context, known Range, prefix string, o LastOptions) (after etcdstore.Revision, found int, err error) {
	bounds := &pebble.IterOptions{LowerBound: eventKey(known.Number, o.After+1, 0), UpperBound: eventKey(known.Number, o.Through+1, 0)}
	if o.Exact {
		bounds = &pebble.IterOptions{LowerBound: stateKey(known.Number, prefix, o.After+1), UpperBound: stateKey(known.Number, prefix, o.Through+1)}
	}
	it, err := j.db.NewIter(bounds)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = it.Close() }()
	for ok := it.Last(); ok; ok = it.Prev() {
		key, revision, err := eventAt(it, o.Exact)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if found++; found >= o.Count {
			return revision - 1, found, nil
		}
	}
	return o.After, found, it.Error()
}

// eventAt returns the key and the revision of the event, or of the state, under an iterator.
func eventAt(it *pebble.Iterator, state bool) (string, etcdstore.Revision, error) {
	if state {
		return parseStateKey(it.Key())
	}
	e, err := parseEvent(it.Key(), it.Value())
	return e.key, e.revision, err
}
