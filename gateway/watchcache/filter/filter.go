// Package filter selects objects or keys, and their changes, by a CEL expression, as in Kubernetes' validation rules: an
// expression always ends and has no side effects.
package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"revtail/encoding"
)

// Filter is a compiled expression. It is immutable and safe for concurrent use.
//
// A filter of states uses neither old nor type: it is true or false for each state of an object, so an object that starts to match
// is ADDED for the client, and one that stops to match is DELETED, as with a selector. A filter of events uses one of the
// two: it is true or false for each event, without any transition between events.
type Filter struct {
	id       uint64 // unique in its dialect
	dialect  *Dialect
	program  cel.Program
	ofEvents bool

	slowest atomic.Int64 // nanoseconds of one of the last evaluations
	largest atomic.Int64 // bytes of the largest input
}

// Input has the variables of a filter.
type Input struct {
	Type     encoding.EventType // for a filter of events only
	Key      string             // in etcd
	Document []byte             // the state as JSON; of a deletion, the last one
	Old      []byte             // the state before; nil: none. For a filter of events only.
}

// OfEvents reports whether it is a filter of events.
func (f *Filter) OfEvents() bool { return f.ofEvents }

// Matches evaluates the expression. An expression with an error, such as a missing field, does not match. The error is a
// *CostError, or that of ctx.
func (f *Filter) Matches(ctx context.Context, in Input) (bool, error) {
	f.dialect.evaluated.Add(1)
	defer f.measure(time.Now(), int64(len(in.Document)+len(in.Old)))
	result, _, err := f.program.ContextEval(ctx, &activation{dialect: f.dialect, in: in})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, cancelled := errors.AsType[interpreter.EvalCancelledError](err); cancelled {
		return false, &CostError{Key: in.Key}
	}
	return err == nil && result == types.True, nil
}

// measure records an evaluation. A slow one is forgotten after some fast ones.
func (f *Filter) measure(began time.Time, size int64) {
	took := int64(time.Since(began))
	f.slowest.Store(max(took, f.slowest.Load()*7/8))
	f.largest.Store(max(size, f.largest.Load()))
}

// Estimate estimates the time of an evaluation of an input of a size, in bytes, from the evaluations before. It is very long if none was of
// such a size.
func (f *Filter) Estimate(size int) time.Duration {
	switch {
	case size == 0:
		return 0
	case int64(size) > 2*f.largest.Load():
		return unknown
	}
	return 2 * time.Duration(f.slowest.Load())
}

const unknown = time.Hour

// CostError says that an evaluation would exceed the cost limit. Whether the filter matches is not known.
type CostError struct{ Key string }

func (e *CostError) Error() string {
	return fmt.Sprintf("filter: for the key %q it takes more work than one evaluation may (%d units): look at less of the object, "+
		"or choose by labelSelector, fieldSelector or a narrower path first", e.Key, costLimit)
}

// activation binds the variables of one evaluation, each at its first use.
type activation struct {
	dialect        *Dialect
	in             Input
	document, prev ref.Val // nil: not used yet
}

// ResolveName implements cel.Activation.
func (v *activation) ResolveName(name string) (any, bool) {
	switch name {
	case v.dialect.subject:
		if v.document == nil {
			v.document = v.dialect.value(v.in.Document)
		}
		return v.document, true
	case "old":
		switch {
		case v.in.Old == nil:
			return types.NullValue, true
		case v.prev == nil:
			v.prev = v.dialect.value(v.in.Old)
		}
		return v.prev, true
	case "key":
		return types.String(v.in.Key), true
	case "text":
		return types.String(v.dialect.text(v.in.Document)), true
	case "type":
		return types.String(cmp.Or(v.dialect.types[v.in.Type], string(v.in.Type))), true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *activation) Parent() cel.Activation { return nil }
