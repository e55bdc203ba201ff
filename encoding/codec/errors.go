package codec

import (
	"errors"
	"fmt"
	"strings"
)

// The bodies that are refused for what they are, whatever they say.
var (
	ErrNotUTF8   = errors.New("the body is not valid UTF-8")
	ErrNotObject = errors.New("the body is not an object")
)

// UnsupportedMediaTypeError says that a body is in a format nobody here reads.
type UnsupportedMediaTypeError struct {
	ContentType string   // as the client sent it
	Accepted    []string // what to send instead
}

func (e *UnsupportedMediaTypeError) Error() string {
	return fmt.Sprintf("the body is of type %.100q; accepted are %s", e.ContentType, strings.Join(e.Accepted, ", "))
}

// SyntaxError says that a body is not in the format its type says.
type SyntaxError struct {
	Format string // "json", "yaml" or "protobuf"
	Err    error  // what the parser says
}

func (e *SyntaxError) Error() string { return e.Format + " parse error: " + e.Err.Error() }

func (e *SyntaxError) Unwrap() error { return e.Err }

// LimitError says that a body is too much to decode.
type LimitError struct {
	What  string // such as "levels of nesting"
	Limit int    // how many are allowed
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the body has more than %d %s", e.Limit, e.What)
}
