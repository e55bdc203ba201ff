package filter

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

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
