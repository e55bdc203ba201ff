package codec

import (
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

const (
	// MaxDepth bounds the nesting of objects and arrays.
	MaxDepth = 64
	// MaxTokens bounds the number of brackets, member names and scalars of a body. The largest CustomResourceDefinitions in common
	// use have about 20,000.
	MaxTokens = 100_000
)

// Check holds a JSON body to the limits of this package without decoding it. It ignores syntax errors. The error is a *LimitError or
// ErrNotUTF8.
func Check(body []byte) error {
	if !utf8.Valid(body) {
		return ErrNotUTF8
	}
	_, err := measure(body)
	return err
}

// measure counts the members of all objects in a JSON body. It stops at a limit and at a syntax error.
func measure(body []byte) (members int, err error) {
	m := meter{Scanner: jsontext.NewScanner(body)}
	m.value()
	return m.members, m.err
}

// meter is a scan that counts.
type meter struct {
	jsontext.Scanner
	depth, tokens, members int
	err                    error
}

// value steps over one value.
func (m *meter) value() (ok bool) {
	switch m.Peek() {
	case '{':
		ok = m.enter() && m.Object(func([]byte) bool {
			m.members++
			return m.count(1) && m.value()
		})
	case '[':
		ok = m.enter() && m.Array(m.value)
	default:
		_, ok = m.Scalar()
		return m.count(1) && ok
	}
	m.depth--
	return ok
}

// enter counts the two brackets of an object or array.
func (m *meter) enter() bool {
	if m.depth++; m.depth > MaxDepth {
		m.err = tooDeep()
		return false
	}
	return m.count(2)
}

func (m *meter) count(tokens int) bool {
	if m.tokens += tokens; m.tokens > MaxTokens {
		m.err = tooManyTokens()
	}
	return m.err == nil
}

func tooDeep() error { return &LimitError{What: "levels of nesting", Limit: MaxDepth} }

func tooManyTokens() error { return &LimitError{What: "tokens", Limit: MaxTokens} }

// count counts the members of all objects in a decoded value.
func count(value any) int {
	members := 0
	switch value := value.(type) {
	case map[string]any:
		members = len(value)
		for _, member := range value {
			members += count(member)
		}
	case []any:
		for _, element := range value {
			members += count(element)
		}
	}
	return members
}
