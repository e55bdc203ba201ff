package filter

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"revtail/encoding"
)

const (
	// maxLength bounds the text of a filter, in bytes.
	maxLength = 4 << 10
	// costLimit bounds one evaluation, in units of CEL's: about 50 ms. One takes 0.3 µs at most, but in a loop, where the time that
	// CEL's own accounting takes grows with the square of the steps: 100,000 would be 600 ms.
	costLimit = 30_000
	// checkEvery is after how many steps of a loop an evaluation looks whether it is still wanted.
	checkEvery = 1_000
	// maxFaults is how many faults of a text are told.
	maxErrors = 3
)

// Dialect is what filters speak of: objects, or keys and their values. It is safe for concurrent use.
type Dialect struct {
	subject string // the name of the variable that is the state
	limit   uint64 // costLimit; less in tests
	env     func() *cel.Env
	value   func(document []byte) ref.Val
	typeOf  func(encoding.EventType) string

	compiled, evaluated atomic.Uint64
}

// Objects is the dialect of resources: object and old are objects, type is ADDED, MODIFIED or DELETED.
func Objects() *Dialect {
	return &Dialect{subject: "object", limit: costLimit, env: objectEnv, value: valueOf, typeOf: func(t encoding.EventType) string { return string(t) }}
}

// Keys is the dialect of keys, whose documents encoding.AppendKeyValue has made: value and old are the decoded JSON, a string or
// bytes; type is PUT or DELETE.
func Keys() *Dialect {
	return &Dialect{subject: "value", limit: costLimit, env: keyEnv, value: keyValue, typeOf: func(t encoding.EventType) string {
		if t == encoding.Deleted {
			return "DELETE"
		}
		return "PUT"
	}}
}

// What declares the functions of the language takes some milliseconds, and is the same for all dialects of a kind.
var (
	objectEnv = sync.OnceValue(func() *cel.Env { return newEnv("object") })
	keyEnv    = sync.OnceValue(func() *cel.Env { return newEnv("value") })
)

// newEnv has only functions whose work is bounded by what they are given: without replace, join, format and range, which make
// much of little before anybody counts it.
func newEnv(subject string) *cel.Env {
	env, err := cel.NewEnv(
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.TwoVarComprehensions(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		cel.Variable(subject, cel.DynType),
		cel.Variable("old", cel.DynType),
		cel.Variable("key", cel.StringType),
		cel.Variable("type", cel.StringType),
	)
	if err != nil {
		panic("filter: " + err.Error()) // cannot be: nothing here comes from outside
	}
	return env
}

// Compiled is how many texts were compiled.
func (d *Dialect) Compiled() uint64 { return d.compiled.Load() }

// Evaluated is how often a filter was asked.
func (d *Dialect) Evaluated() uint64 { return d.evaluated.Load() }

// Compile makes a filter of a text. The error says what is wrong with it, and where, in words for the client.
func (d *Dialect) Compile(text string) (*Filter, error) {
	switch {
	case len(text) > maxLength:
		return nil, fmt.Errorf("filter: it has %d bytes: %d are the limit", len(text), maxLength)
	case !utf8.ValidString(text):
		return nil, errors.New("filter: it is not valid UTF-8")
	}
	env := d.env()
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, d.compileError(text, issues)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("filter: line 1, column 1: the whole is of type %s: want true or false, such as %s.a > 3", out, d.subject)
	}
	costs := &costEstimator{limit: d.limit, patterns: make(map[string]*pattern)}
	program, err := env.Program(ast, cel.CostLimit(d.limit), cel.CostTracking(costs), cel.CustomDecoratorV2(costs.limitCall), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	f := &Filter{id: d.compiled.Add(1), dialect: d, program: program}
	for _, reference := range ast.NativeRep().ReferenceMap() {
		f.ofEvents = f.ofEvents || reference.Name == "old" || reference.Name == "type"
	}
	return f, nil
}

// refuse says what is wrong with a text.
func (d *Dialect) compileError(text string, issues *cel.Issues) error {
	source := common.NewTextSource(text)
	var out strings.Builder
	faults := issues.Errors()
	for i, fault := range faults[:min(len(faults), maxErrors)] {
		if i > 0 {
			out.WriteByte('\n')
		}
		message := strings.TrimSuffix(fault.Message, " (in container '')")
		out.WriteString("filter: ")
		if line := fault.Location.Line(); line > 0 { // else it is about the whole
			fmt.Fprintf(&out, "line %d, column %d: ", line, max(fault.Location.Column()+1, 1))
		}
		out.WriteString(message)
		if strings.HasPrefix(message, "undeclared reference") {
			fmt.Fprintf(&out, ": there are %s, old, key and type", d.subject)
		}
		if _, snippet, ok := strings.Cut(fault.ToDisplayString(source), "\n | "); ok {
			out.WriteString("\n | " + snippet) // the line, and a caret below it
		}
	}
	return errors.New(out.String())
}

// keyValue is the value in a document of a key.
func keyValue(document []byte) ref.Val {
	value := valueOf(encoding.Member(document, "value"))
	if string(encoding.Member(document, "encoding")) != `"base64"` {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(string(value.(types.String)))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bytes(text)
}
