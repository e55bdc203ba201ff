package codec

import (
	"maps"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

const (
	// MaxDepth bounds the nesting of objects and arrays.
	MaxDepth = 64
	// MaxTokens bounds the number of brackets, member names and scalars of a body. The largest CustomResourceDefinitions in common
	// use have about 20,000.
	MaxTokens = 100_000
	// maxManagedDepth and maxManagedTokens are the limits of metadata.managedFields, which does not count for the others: the server
	// writes it, with up to three tokens for one of the object and manager, and clients send it back.
	maxManagedDepth  = 2 * MaxDepth
	maxManagedTokens = 5 * MaxTokens
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
	m := meter{Scanner: jsontext.NewScanner(body), body: true, maxDepth: MaxDepth, maxTokens: MaxTokens}
	m.value()
	return m.members, m.err
}

// meter is a scan that counts.
type meter struct {
	jsontext.Scanner
	body                   bool // not a part of one
	maxDepth, maxTokens    int
	depth, tokens, members int
	inMetadata             bool // of the body
	managedTokens          int
	err                    error
}

// value steps over one value.
func (m *meter) value() (ok bool) {
	switch m.Peek() {
	case '{':
		ok = m.enter() && m.Object(m.member)
	case '[':
		ok = m.enter() && m.Array(m.value)
	default:
		_, ok = m.Scalar()
		return m.count(1) && ok
	}
	m.depth--
	return ok
}

// member steps over the value of a member.
func (m *meter) member(name []byte) bool {
	m.members++
	switch {
	case m.depth == 1:
		m.inMetadata = m.body && string(name) == "metadata"
	case m.depth == 2 && m.inMetadata && string(name) == "managedFields":
		return m.managedFields()
	}
	return m.count(1) && m.value()
}

// managedFields steps over metadata.managedFields, which has limits of its own.
func (m *meter) managedFields() bool {
	managed := meter{Scanner: m.Scanner, maxDepth: maxManagedDepth, maxTokens: maxManagedTokens, tokens: m.managedTokens}
	ok := managed.value()
	m.Scanner, m.managedTokens, m.members, m.err = managed.Scanner, managed.tokens, m.members+managed.members, managed.err
	return ok
}

// enter counts the two brackets of an object or array.
func (m *meter) enter() bool {
	if m.depth++; m.depth > m.maxDepth {
		m.err = tooDeep(m.maxDepth)
		return false
	}
	return m.count(2)
}

func (m *meter) count(tokens int) bool {
	if m.tokens += tokens; m.tokens > m.maxTokens {
		m.err = tooManyTokens(m.maxTokens)
	}
	return m.err == nil
}

func tooDeep(limit int) error { return &LimitError{What: "levels of nesting", Limit: limit} }

func tooManyTokens(limit int) error { return &LimitError{What: "tokens", Limit: limit} }

// Tokens counts the tokens of a decoded object as Check does, without those of metadata.managedFields. The error is a *LimitError for an
// object that is nested too deeply.
func Tokens(object map[string]any) (int, error) {
	if metadata, ok := object["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
		object, metadata = maps.Clone(object), maps.Clone(metadata)
		delete(metadata, "managedFields")
		object["metadata"] = metadata
	}
	tokens, ok := tokensOf(object, 1)
	if !ok {
		return 0, tooDeep(MaxDepth)
	}
	return tokens, nil
}

// tokensOf counts the tokens of a value at a depth. False: it is nested too deeply.
func tokensOf(value any, depth int) (tokens int, ok bool) {
	var n int
	switch value := value.(type) {
	case map[string]any:
		tokens, ok = 2+len(value), depth <= MaxDepth
		for _, member := range value {
			if !ok {
				break
			}
			n, ok = tokensOf(member, depth+1)
			tokens += n
		}
		return tokens, ok
	case []any:
		tokens, ok = 2, depth <= MaxDepth
		for _, element := range value {
			if !ok {
				break
			}
			n, ok = tokensOf(element, depth+1)
			tokens += n
		}
		return tokens, ok
	}
	return 1, true
}

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
