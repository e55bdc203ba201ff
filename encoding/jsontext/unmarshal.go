package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Unmarshal decodes a JSON object, and nothing after it. Numbers are int64 or float64, as in apimachinery, or json.Number if these
// types would change them. Strings without escapes share the memory of doc, which must not change from then on: clone a string to
// keep it for long. The error is a *DecodeError.
func Unmarshal(doc []byte) (map[string]any, error) {
	value, err := UnmarshalValue(doc)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	return object, nil
}

// UnmarshalValue decodes a JSON text of any type, as Unmarshal decodes an object.
func UnmarshalValue(text []byte) (any, error) {
	s := NewScanner(text)
	value, ok := s.decode()
	if !ok || !s.End() {
		return nil, explain(text)
	}
	return value, nil
}

// decode steps over one value and returns it.
func (s *Scanner) decode() (any, bool) {
	switch s.Peek() {
	case '{':
		object := map[string]any{}
		ok := s.Object(func(name []byte) bool {
			value, ok := s.decode()
			object[UnquoteShared(name)] = value
			return ok
		})
		return object, ok
	case '[':
		array := []any{}
		ok := s.Array(func() bool {
			element, ok := s.decode()
			array = append(array, element)
			return ok
		})
		return array, ok
	case '"':
		raw, ok := s.Quoted()
		return UnquoteShared(raw), ok
	}
	raw, ok := s.Scalar()
	if !ok {
		return nil, false
	}
	switch raw[0] {
	case 't':
		return true, true
	case 'f':
		return false, true
	case 'n':
		return nil, true
	}
	return decodeNumber(raw), true
}

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
