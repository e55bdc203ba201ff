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
	"revtail/encoding/jsontext"
)

const (
	// maxLength bounds the text of a filter, in bytes.
	maxLength = 4 << 10
	// costLimit bounds one evaluation, in units of CEL: about 50 ms. A unit takes 0.3 µs at most, except in a loop, where the time
	// of CEL's own accounting grows with the square of the steps: 100,000 units would take 600 ms.
	costLimit = 30_000
	// checkEvery is the number of loop steps after which an evaluation checks its context.
	checkEvery = 1_000
	// maxErrors bounds the errors that the client gets.
	maxErrors = 3
)

// Dialect declares the variables of filters: of objects, or of keys and their values. It is safe for concurrent use.
type Dialect struct {
	subject string // the name of the variable for the state
	limit   uint64 // costLimit; less in tests
	env     func() *cel.Env
	value   func(document []byte) ref.Val
	text    func(document []byte) []byte  // the JSON of the state
	types   map[encoding.EventType]string // their names; nil: as they are

	compiled, evaluated atomic.Uint64
}

// Objects is the dialect of resources: object and old are objects, type is ADDED, MODIFIED or DELETED.
func Objects() *Dialect {
	return &Dialect{subject: "object", limit: costLimit, env: objectEnv, value: valueOf, text: func(document []byte) []byte { return document }}
}

// Keys is the dialect of keys with documents of encoding.AppendKeyValue: value and old are the decoded JSON, a string or bytes;
// type is PUT or DELETE.
func Keys() *Dialect {
	return &Dialect{subject: "value", limit: costLimit, env: keyEnv, value: keyValue, text: keyText, types: map[encoding.EventType]string{
		encoding.Added: "PUT", encoding.Modified: "PUT", encoding.Deleted: "DELETE",
	}}
}

// All dialects of a kind share an environment, because its functions take some milliseconds to declare.
var (
	objectEnv = sync.OnceValue(func() *cel.Env { return newEnv("object") })
	keyEnv    = sync.OnceValue(func() *cel.Env { return newEnv("value") })
)

// newEnv declares only functions whose work is bounded by their arguments. It leaves out replace, join, format and range, because
// they make large results before the cost is counted.
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
		cel.Variable("text", cel.StringType),
		cel.Function("containsFold", cel.MemberOverload("string_contains_fold", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(containsFold))),
	)
	if err != nil {
		panic("filter: " + err.Error()) // cannot happen: all declarations are constants
	}
	return env
}

// containsFold reports whether a text contains another one, whatever the case of the letters.
func containsFold(text, part ref.Val) ref.Val {
	return types.Bool(strings.Contains(strings.ToLower(string(text.(types.String))), strings.ToLower(string(part.(types.String)))))
}

// Evaluated counts the evaluations.
func (d *Dialect) Evaluated() uint64 { return d.evaluated.Load() }

// Compile makes a filter from a text. The error is for the client: what is wrong, and where.
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

// compileError makes the error for the client.
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
		if line := fault.Location.Line(); line > 0 { // otherwise the error is about the whole text
			fmt.Fprintf(&out, "line %d, column %d: ", line, max(fault.Location.Column()+1, 1))
		}
		out.WriteString(message)
		if strings.HasPrefix(message, "undeclared reference") {
			fmt.Fprintf(&out, ": there are %s, old, key, type and text", d.subject)
		}
		if _, snippet, ok := strings.Cut(fault.ToDisplayString(source), "\n | "); ok {
			out.WriteString("\n | " + snippet) // the line, and a caret below it
		}
	}
	return errors.New(out.String())
}

// keyText is the JSON of the value in a key's document.
func keyText(document []byte) []byte { return jsontext.Member(document, "value") }

// keyValue is the value of a key's document.
func keyValue(document []byte) ref.Val {
	value := valueOf(keyText(document))
	if string(jsontext.Member(document, "encoding")) != `"base64"` {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(string(value.(types.String)))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bytes(text)
}
