package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// DecodeError says why bytes are not a document. Its text has no subject, to follow "the value of KEY: ".
type DecodeError struct {
	Reason string // such as "metadata is not an object"
	Err    error  // the error of the parser; nil: none
}

func (e *DecodeError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

func (e *DecodeError) Unwrap() error { return e.Err }

// ErrNotObject is the error for JSON of another type than object.
var ErrNotObject = &DecodeError{Reason: "not a JSON object"}

// explain returns why a Scanner refuses doc, in the words of encoding/json, which clients know from other servers.
func explain(doc []byte) error {
	if !utf8.Valid(doc) {
		return &DecodeError{Reason: "not valid UTF-8"}
	}
	var raw json.RawMessage
	err := json.Unmarshal(doc, &raw)
	s := NewScanner(doc)
	if s.Skip(); err == nil && s.huge != nil {
		err = fmt.Errorf("cannot unmarshal number %.40s into Go value of type float64", s.huge)
	}
	if err == nil {
		err = errors.New("malformed document") // unreachable: the scanner refuses what encoding/json refuses
	}
	return &DecodeError{Reason: "not JSON", Err: err}
}
