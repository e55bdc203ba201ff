package jsontext

import (
	"bytes"
	"encoding/json"
)

// Compact returns a JSON value of any type without white space between its tokens. It returns value itself if there is none. The
// error is a *DecodeError.
func Compact(value []byte) ([]byte, error) {
	compact, ok := TryCompact(value)
	if !ok {
		return nil, explain(value)
	}
	return compact, nil
}

// TryCompact is Compact without an explanation of the error.
func TryCompact(value []byte) (compact []byte, ok bool) {
	s := NewScanner(value)
	if !s.Skip() || !s.End() {
		return nil, false
	}
	if !s.loose {
		return value, true
	}
	out := bytes.NewBuffer(make([]byte, 0, len(value)))
	err := json.Compact(out, value)
	return out.Bytes(), err == nil
}

// Indent returns a JSON document with an indentation of two spaces per level. It keeps a newline at the end of doc.
func Indent(doc []byte) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(len(doc) * 2)
	if err := json.Indent(&buffer, doc, "", "  "); err != nil {
		return nil, &DecodeError{Reason: "not JSON", Err: err}
	}
	return buffer.Bytes(), nil
}
