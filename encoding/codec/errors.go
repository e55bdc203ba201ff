package codec

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of bodies in any format.
var (
	ErrNotUTF8   = errors.New("the body is not valid UTF-8")
	ErrNotObject = errors.New("the body is not an object")
)

// UnsupportedMediaTypeError is the error for a body in an unknown format.
type UnsupportedMediaTypeError struct {
	ContentType string   // of the request
	Accepted    []string // media types
}

func (e *UnsupportedMediaTypeError) Error() string {
	return fmt.Sprintf("the body is of type %.100q; accepted are %s", e.ContentType, strings.Join(e.Accepted, ", "))
}

// SyntaxError is the error for a body that is not valid in its format.
type SyntaxError struct {
	Format string // "json", "yaml" or "protobuf"
	Err    error  // of the parser
}

func (e *SyntaxError) Error() string { return e.Format + " parse error: " + e.Err.Error() }

func (e *SyntaxError) Unwrap() error { return e.Err }

// LimitError is the error for a body that exceeds a limit.
type LimitError struct {
	What  string // such as "levels of nesting"
	Limit int    // the maximum
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the body has more than %d %s", e.Limit, e.What)
}
