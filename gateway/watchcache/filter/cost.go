package filter

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL adds the cost of a call when the call has returned, which bounds loops. A single call of some functions can take as long as
// a loop: its cost is known before the call, and too expensive calls are refused.

const (
	textUnit    = 100 // bytes of text for one unit of cost
	patternUnit = 60  // bytes times instructions of a pattern for one unit
	zoneCost    = 200 // of finding a time zone by its name, which reads a file
	memberUnit  = 4   // compared values for one unit
)

// costEstimator computes the costs of the calls of one filter. It replaces CEL's own rules, which make the search in a text ten
// times as expensive as a loop, and a pattern as expensive as its length.
type costEstimator struct {
	limit    uint64              // of an evaluation
	patterns map[string]*pattern // constants of the filter; complete after compilation
}

// CallCost implements interpreter.ActualCostEstimator.
func (p *costEstimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1 + lengthOf(result)/textUnit
	if limited, ok := limitedFunctions[function]; ok {
		cost += limited.cost(p, args)
	} else {
		for _, arg := range args {
			cost += lengthOf(arg) / textUnit
		}
	}
	if strings.HasPrefix(function, "get") && len(args) == 2 { // a part of a time, in a time zone
		cost += zoneCost
	}
	if function == operators.Add || function == overloads.Size {
		cost += elementsOf(args[0])/memberUnit + elementsOf(result)/memberUnit
	}
	return &cost
}

// lengthOf is the bytes of a text value.
func lengthOf(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}

func elementsOf(value ref.Val) uint64 {
	if list, ok := value.(traits.Lister); ok {
		if n, ok := list.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 0
}

// limitedFunction is a function whose cost is checked before a call.
type limitedFunction struct {
	cost func(p *costEstimator, args []ref.Val) uint64
	call func(p *costEstimator, a, b ref.Val) ref.Val
}

var limitedFunctions = map[string]limitedFunction{
	operators.Equals: {(*costEstimator).comparisonCost, func(_ *costEstimator, a, b ref.Val) ref.Val { return types.Equal(a, b) }},
	operators.NotEquals: {(*costEstimator).comparisonCost, func(_ *costEstimator, a, b ref.Val) ref.Val {
		return types.Bool(types.Equal(a, b) != types.True)
	}},
	operators.In:      {(*costEstimator).searchCost, contains},
	overloads.Matches: {(*costEstimator).matchCost, (*costEstimator).matches},
}

// searchCost is the cost of finding a value in a list, or a key in a map.
func (p *costEstimator) searchCost(args []ref.Val) uint64 {
	if _, ok := args[1].(traits.Mapper); ok {
		return 1
	}
	return p.comparisonCost(args)
}

func (p *costEstimator) comparisonCost(args []ref.Val) uint64 {
	left := p.limit * memberUnit
	for _, arg := range args {
		left = subtractCost(arg, left)
	}
	return p.limit - left/memberUnit
}

// matchCost depends on the instructions of the pattern: a{1000} is a short text but long work.
func (p *costEstimator) matchCost(args []ref.Val) uint64 {
	pattern, err := p.patternOf(args[1])
	switch {
	case errors.Is(err, errLongPattern):
		return p.limit
	case err != nil:
		return 1
	}
	return pattern.compileCost + lengthOf(args[0])*pattern.instructions/patternUnit
}

// subtractCost subtracts the cost of a value and its members from what is left, and stops at zero.
func subtractCost(value ref.Val, left uint64) uint64 {
	left -= min(left, 1+lengthOf(value)/textUnit)
	switch v := value.(type) {
	case *jsonObject:
		if size := uint64(len(v.text)) / textUnit; size >= left { // decoding would cost more
			return 0
		}
		return subtractCost(v.decoded(), left)
	case traits.Lister:
		for it := v.Iterator(); left > 0 && it.HasNext() == types.True; {
			left = subtractCost(it.Next(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); left > 0 && it.HasNext() == types.True; {
			key := it.Next()
			left = subtractCost(key, left)
			if member, found := v.Find(key); found {
				left = subtractCost(member, left)
			}
		}
	}
	return left
}

// limitCall replaces a call of a limited function.
func (p *costEstimator) limitCall(planned interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := planned.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return planned, nil
	}
	function, ok := limitedFunctions[call.Function()]
	if !ok {
		return planned, nil
	}
	if constant, ok := call.Args()[1].(interpreter.InterpretableConst); ok && call.Function() == overloads.Matches {
		p.compileConstant(constant.Value())
	}
	return &limitedCall{call, function, p}, nil
}

func contains(_ *costEstimator, element, in ref.Val) ref.Val {
	container, ok := in.(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(in)
	}
	return container.Contains(element)
}

// limitedCall calls a function only if that costs less than the limit of an evaluation.
type limitedCall struct {
	interpreter.InterpretableCall
	function limitedFunction
	costs    *costEstimator
}

// Exec implements interpreter.InterpretableV2.
func (g *limitedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := []ref.Val{g.Args()[0].Exec(frame), g.Args()[1].Exec(frame)}
	for _, arg := range args {
		if types.IsUnknownOrError(arg) {
			return arg
		}
	}
	if g.function.cost(g.costs, args) >= g.costs.limit {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "too much for one call"})
	}
	return g.function.call(g.costs, args[0], args[1])
}

// Eval implements interpreter.Interpretable.
func (g *limitedCall) Eval(vars interpreter.Activation) ref.Val {
	return g.Exec(interpreter.AsFrame(vars))
}

const (
	// maxPattern bounds a pattern that is no constant of the filter, in bytes; patternCompileCost is the cost of compiling it.
	maxPattern         = 1 << 10
	patternCompileCost = 3_000
)

var errLongPattern = errors.New("the pattern is too long")

// pattern is a compiled regular expression.
type pattern struct {
	expression   *regexp.Regexp
	instructions uint64 // an upper bound of the steps for one byte
	compileCost  uint64 // at each use; zero: compiled once
}

func newPattern(text string) (*pattern, error) {
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{expression: expression, instructions: uint64(len(program.Inst))}, nil
}

// compileConstant compiles a pattern that is a constant of the filter.
func (p *costEstimator) compileConstant(constant ref.Val) {
	text, ok := constant.(types.String)
	if !ok {
		return
	}
	if compiled, err := newPattern(string(text)); err == nil {
		p.patterns[string(text)] = compiled
	}
}

// patternOf returns the compiled pattern of a text.
func (p *costEstimator) patternOf(value ref.Val) (*pattern, error) {
	text, ok := value.(types.String)
	if !ok {
		return nil, errors.New("the pattern is no text")
	}
	if kept := p.patterns[string(text)]; kept != nil {
		return kept, nil
	}
	if len(text) > maxPattern {
		return nil, errLongPattern
	}
	compiled, err := newPattern(string(text))
	if err == nil {
		compiled.compileCost = patternCompileCost
	}
	return compiled, err
}

func (p *costEstimator) matches(text, by ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	pattern, err := p.patternOf(by)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(pattern.expression.MatchString(string(s)))
}
