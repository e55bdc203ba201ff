// Package filter decides by an expression which objects or keys a client gets to see, and which of their changes. The language
// is CEL, as in Kubernetes' validation rules: it always ends, and changes nothing.
package filter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"revtail/encoding"
)

// Filter is a compiled expression. It is immutable and safe for concurrent use.
//
// A filter of states mentions neither old nor type: it is true or false for each state of an object, so an object that starts to
// match enters what the client sees, and one that stops to match leaves it, as with a selector. A filter of events mentions one of
// the two: it is true or false for each event, and says nothing about what lies between two of them.
type Filter struct {
	id         uint64 // unique in its dialect
	dialect    *Dialect
	program    cel.Program
	ofEvents   bool
	evaluating sync.Mutex // held by Results during an evaluation that callers share
}

// Input is what a filter is asked about.
type Input struct {
	Type     encoding.EventType // read by a filter of events only
	Key      string             // of etcd
	Document []byte             // the state, in JSON; of a deletion, the last one
	Old      []byte             // the state before; nil: there was none. Read by a filter of events only.
}

// OfEvents tells whether it is a filter of events.
func (f *Filter) OfEvents() bool { return f.ofEvents }

// Matches evaluates the expression. What it cannot be evaluated for, such as a field that is not there, does not match. The error
// is a *CostError, or that of ctx, which is looked at now and then.
func (f *Filter) Matches(ctx context.Context, in Input) (bool, error) {
	f.dialect.evaluated.Add(1)
	result, _, err := f.program.ContextEval(ctx, &activation{dialect: f.dialect, in: in})
	var cancelled interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, &cancelled):
		return false, &CostError{Key: in.Key}
	}
	return err == nil && result == types.True, nil
}

// CostError says that a filter asks for more work than one evaluation may take. Whether it matches is not known.
type CostError struct{ Key string }

func (e *CostError) Error() string {
	return fmt.Sprintf("filter: for the key %q it takes more work than one evaluation may (%d units): look at less of the object, "+
		"or choose by labelSelector, fieldSelector or a narrower path first", e.Key, costLimit)
}

// variables are what an expression can speak of. A value is made when it is asked for.
type activation struct {
	dialect        *Dialect
	in             Input
	document, prev ref.Val // nil: nobody has asked yet
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
	case "type":
		return types.String(v.dialect.typeOf(v.in.Type)), true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *activation) Parent() cel.Activation { return nil }
