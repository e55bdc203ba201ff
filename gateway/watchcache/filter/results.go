package filter

import (
	"context"
	"sync"
)

// maxResults bounds the results that Results holds, of 8 bytes each. Results of further filters are computed for each watcher.
const maxResults = 256

// Part says what of an event a filter evaluates: one of its two states or, for a filter of events, the event by its type.
type Part uint8

// Parts of an event.
const (
	Current Part = iota
	Previous
	Addition
	Modification
	Deletion
)

// Outcomes of a filter.
const (
	noMatch = iota
	match
	tooCostly
)

const (
	outcomeBits = 2
	partBits    = 3
)

// result is the filter's ID, the part of the event and, in the low bits, the outcome.
type result uint64

func newResult(f *Filter, part Part, outcome int) result {
	return result(f.id<<(partBits+outcomeBits)) | result(part)<<outcomeBits | result(outcome)
}

// Results holds the results of filters for one event, so that watchers with the same filter share one evaluation.
type Results struct {
	mu    sync.Mutex // guards the field below
	known []result
}

// Match evaluates a filter on a part of the event, once for all callers; input makes the variables of the filter. The error is a
// *CostError.
func (r *Results) Match(f *Filter, part Part, input func() Input) (bool, error) {
	outcome, ok := r.find(f, part)
	if !ok {
		outcome = r.evaluate(f, part, input)
	}
	if outcome == tooCostly {
		return false, &CostError{Key: input().Key}
	}
	return outcome == match, nil
}

// Known reports whether Match has the result, and evaluates nothing.
func (r *Results) Known(f *Filter, part Part) bool {
	_, known := r.find(f, part)
	return known
}

// evaluate does not wait for another goroutine that evaluates the same filter, because that may take long.
func (r *Results) evaluate(f *Filter, part Part, input func() Input) (outcome int) {
	matches, err := f.Matches(context.Background(), input()) //nolint:forbidigo // all callers share the result, and its cost is bounded
	switch {
	case err != nil:
		outcome = tooCostly
	case matches:
		outcome = match
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) < maxResults {
		r.known = append(r.known, newResult(f, part, outcome))
	}
	return outcome
}

func (r *Results) find(f *Filter, part Part) (outcome int, ok bool) {
	want := newResult(f, part, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.known {
		if known&^(1<<outcomeBits-1) == want {
			return int(known & (1<<outcomeBits - 1)), true
		}
	}
	return noMatch, false
}
