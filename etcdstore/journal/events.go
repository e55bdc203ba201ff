package journal

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// EventOptions narrow Events.
type EventOptions struct {
	After    etcdstore.Revision // the events after this revision
	Exact    bool               // only the key that equals prefix
	Previous bool               // sets Event.Prev
	Through  etcdstore.Revision // no events after this revision; zero: all
	Bytes    int                // about how much of values to read at a time; complete revisions are returned
	Partial  bool               // keys that a range excludes do not exist; otherwise the events of all keys with a prefix that has such keys are unknown
	Recorded bool               // events have Received, and states whose values are not kept have none; otherwise such events are unknown
}

// Events returns the next events of the keys with a prefix. A step without events has Through, too. The error is ErrUnknown if the journal does not
// have all events after o.After; a step whose Through equals o.After says that there are no more yet.
func (j *Journal) Events(ctx context.Context, history uint64, prefix string, o EventOptions) (etcdstore.Batch, error) {
	known, ok := j.rangeAt(history, prefix, o.After, o.Partial)
	if !ok || known.Ended && o.After >= known.Through {
		return etcdstore.Batch{}, ErrUnknown
	}
	end, ok := known.End(o.After)
	if !ok {
		return etcdstore.Batch{}, ErrUnknown
	}
	if o.Through > 0 {
		end = max(min(end, o.Through), o.After)
	}
	r, err := j.newReader(known.Number)
	if err != nil {
		return etcdstore.Batch{}, err
	}
	defer r.close()
	step := etcdstore.Batch{Through: end}
	size := 0
	events := j.index(known.Number, o.After+1, end)
	if o.Exact {
		events = j.keyEvents(r, prefix, o.After+1, end)
	}
	for e, err := range events {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return etcdstore.Batch{}, err
		}
		if n := len(step.Events); size > o.Bytes && n > 0 && step.Events[n-1].Revision < e.revision {
			step.Through = e.revision - 1
			break
		}
		if !strings.HasPrefix(e.key, prefix) || o.Exact && e.key != prefix {
			continue
		}
		event, err := r.event(e, o)
		if err != nil {
			return etcdstore.Batch{}, err
		}
		if event.KV != nil {
			size += len(event.KV.Value)
		}
		step.Events, step.Received = append(step.Events, event), e.arrived
	}
	if again, ok := j.rangeAt(history, prefix, o.After, o.Partial); !ok || again.Number != known.Number {
		return etcdstore.Batch{}, ErrUnknown
	}
	return step, nil
}

func (r *reader) event(e event, o EventOptions) (out etcdstore.Event, err error) {
	out = etcdstore.Event{Revision: e.revision, Key: e.key}
	if r.omitted = o.Recorded; o.Recorded {
		out.Received = e.arrived
	}
	if out.KV, err = r.kv(e.key, e.revision, false); err == nil && o.Previous {
		out.Prev, err = r.kv(e.key, e.revision-1, false)
	}
	if out.KV != nil && out.KV.Modified != e.revision {
		err = errors.Join(err, damagedError(e.key, e.revision, errEntry))
	}
	return out, err
}

// index yields the events of revisions in their order.
func (j *Journal) index(number uint32, from, through etcdstore.Revision) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		it, err := j.reads.NewIter(&pebble.IterOptions{LowerBound: eventKey(number, from, 0), UpperBound: eventKey(number, through+1, 0)})
		if err != nil {
			yield(event{}, err)
			return
		}
		defer func() { _ = it.Close() }()
		for ok := it.First(); ok; ok = it.Next() {
			e, err := parseEvent(it.Key(), it.Value())
			if !yield(e, err) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(event{}, err)
		}
	}
}

// Began returns the time from which the events of a range are recorded; zero: none is.
func (j *Journal) Began(r Range) (time.Time, error) {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, r.Number), UpperBound: head(timeKind, r.Number+1)})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = it.Close() }()
	if !it.First() {
		return time.Time{}, it.Error()
	}
	at, _, err := parseTimeKey(it.Key())
	return at, err
}

// At returns the revision of the last event of a range that had arrived at a time, and when it arrived; false: the range begins later.
func (j *Journal) At(r Range, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error) {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, r.Number), UpperBound: head(timeKind, r.Number+1)})
	if err != nil {
		return 0, time.Time{}, false, err
	}
	defer func() { _ = it.Close() }()
	if !it.SeekLT(timeKey(r.Number, when.Add(time.Millisecond), 0)) {
		return 0, time.Time{}, false, it.Error()
	}
	arrived, revision, err = parseTimeKey(it.Key())
	return revision, arrived, err == nil && revision >= r.Oldest, err
}
