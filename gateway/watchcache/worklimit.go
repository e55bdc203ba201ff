package watchcache

import (
	"errors"
	"time"

	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/filter"
)

// ErrTooMuchWork is the error of Reader.Poll if the next batch needs more work than the limit of the Reader permits. The watcher is
// unchanged, but no ReadyList gets it: a Reader without a limit reads the batch.
var ErrTooMuchWork = errors.New("the next batch needs too much work")

// WorkLimit limits the work that Reader.Poll and its caller do themselves on what clients choose: selectors, filters, and documents that are
// not encoded unchanged. It is an estimate.
type WorkLimit struct {
	Each    time.Duration // for one call of Poll
	Left    time.Duration // for all calls; Poll subtracts from it
	Encoded bool          // the caller has the frames of the last batch for this watcher, and encodes nothing if Poll returns the same
	Taken   time.Duration // by the last call of Poll
}

// Limit limits the work of Poll; nil: no limit.
func (r *Reader) Limit(limit *WorkLimit) { r.limit = limit }

// turn returns the turn that pays for the evaluation of events. Work within a limit is done without waiting for a turn.
func (r *Reader) turn(w *Watcher) cputime.Turn {
	if r.limit != nil {
		return cputime.Turn{}
	}
	return w.query.Account.Turn()
}

// scanTime is how long one pass over a byte of a document takes, at most.
const scanTime = time.Nanosecond

// take subtracts the work on events. It returns false, and subtracts nothing, if that is too much.
func (l *WorkLimit) take(w *Watcher, events []*event) bool {
	if l == nil || !w.query.chargeable() && w.query.Passes == 0 {
		return true
	}
	work := l.Taken
	for _, e := range events {
		if w.wakeKey.contains(e.object()) {
			work += w.query.workOn(e)
		}
		if work > min(l.Each, l.Left+l.Taken) {
			return false
		}
	}
	l.Left -= work - l.Taken
	l.Taken = work
	return true
}

// takeShared is take for the changes of a batch that was read for another watcher with the same selection.
func (l *WorkLimit) takeShared(w *Watcher, changes []Change) bool {
	if l == nil || l.Encoded || w.query.Passes == 0 {
		return true
	}
	work := time.Duration(0)
	for _, change := range changes {
		work += time.Duration(w.query.Passes*len(change.Object.JSON)) * scanTime
	}
	if work > min(l.Each, l.Left) {
		return false
	}
	l.Left -= work
	l.Taken = work
	return true
}

// workOn estimates the work on an event.
func (q *WatchQuery) workOn(e *event) time.Duration {
	scanned := q.Passes * len(e.object().JSON)
	for _, o := range []*Object{e.current, e.previous} {
		if o != nil && !q.Selector.Empty() {
			scanned += q.Selector.BytesRead(len(o.Labels()), len(o.JSON))
		}
	}
	work := time.Duration(scanned) * scanTime
	if q.Encoding != nil {
		work += e.encodingWork(q.Encoding)
	}
	if q.Filter != nil {
		work += q.Filter.Estimate(e.unevaluated(q.Filter))
	}
	return work
}

// unevaluated returns the bytes of the states for which the result of a filter is not known.
func (e *event) unevaluated(f *filter.Filter) (bytes int) {
	if f.OfEvents() {
		if e.results.Known(f, e.part()) {
			return 0
		}
		return e.size()
	}
	if e.current != nil && !e.results.Known(f, filter.Current) {
		bytes += len(e.current.JSON)
	}
	if e.previous != nil && !e.results.Known(f, filter.Previous) {
		bytes += len(e.previous.JSON)
	}
	return bytes
}
