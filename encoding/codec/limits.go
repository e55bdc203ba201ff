package codec

import (
	"bytes"
	"unicode/utf8"
)

const (
	// MaxDepth is how many objects and arrays may be inside one another.
	MaxDepth = 64
	// MaxTokens is how many brackets, member names and scalars a body may have. The largest CustomResourceDefinitions in
	// common use have about 20,000.
	MaxTokens = 100_000
)

// Check holds a JSON body to the limits of this package without decoding it, and without a look at its syntax.
// The error is a *LimitError or ErrNotUTF8.
func Check(body []byte) error {
	if !utf8.Valid(body) {
		return ErrNotUTF8
	}
	_, err := measure(body)
	return err
}

// measure counts the members of all objects in a JSON body, and stops where a limit is passed. It takes the body for
// valid; if it is not, the count means nothing.
func measure(body []byte) (members int, err error) {
	tokens, depth := 0, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '{', '[':
			depth++
			tokens++
		case '}', ']':
			depth--
			tokens++
		case '"':
			i = closingQuote(body, i)
			tokens++
		case ':':
			members++
		case ',', ' ', '\t', '\r', '\n':
		default:
			for i+1 < len(body) && isBare(body[i+1]) {
				i++
			}
			tokens++
		}
		if depth > MaxDepth {
			return 0, &LimitError{What: "levels of nesting", Limit: MaxDepth}
		}
		if tokens > MaxTokens {
			return 0, tooManyTokens()
		}
	}
	return members, nil
}

func tooManyTokens() error { return &LimitError{What: "tokens", Limit: MaxTokens} }

// closingQuote returns where the string that opens at i ends.
func closingQuote(body []byte, i int) int {
	for start := i + 1; ; {
		n := bytes.IndexByte(body[i+1:], '"')
		if n < 0 {
			return len(body)
		}
		i += 1 + n
		before := i
		for before > start && body[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 { // else the quote is escaped
			return i
		}
		start = i + 1
	}
}

// isBare reports whether c can go on a number, true, false or null.
func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '+' || c == '-' || c == 'E'
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
