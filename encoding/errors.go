package encoding

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// DecodeError says why bytes are not a document. Its text is one sentence part, fit to stand after "the value of KEY: ".
type DecodeError struct {
	Reason string // what is wrong, such as "metadata is not an object"
	Err    error  // the parser's own error; nil when Reason says it all
}

func (e *DecodeError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

func (e *DecodeError) Unwrap() error { return e.Err }

// refuse says why doc cannot be decoded, in the words of encoding/json, which clients know from other servers.
func refuse(doc []byte) error {
	if !utf8.Valid(doc) {
		return &DecodeError{Reason: "not valid UTF-8"}
	}
	var raw json.RawMessage
	err := json.Unmarshal(doc, &raw)
	s := scanner{doc: doc}
	if s.skip(); err == nil && s.vast != nil {
		err = fmt.Errorf("cannot unmarshal number %.40s into Go value of type float64", s.vast)
	}
	if err == nil {
		// The scanner and encoding/json are held together by a fuzz test: this is not reached.
		err = errors.New("malformed document")
	}
	return &DecodeError{Reason: "not JSON", Err: err}
}

func errNotObject() error { return &DecodeError{Reason: "not a JSON object"} }
