package patch

import (
	"encoding/json"
	"errors"
	"fmt"

	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
)

// What can be wrong with a patch. Errors wrap one of these and the cause; test with errors.Is. A cause may quote the patch
// at length.
var (
	ErrMalformed = errors.New("the patch is malformed")                          // not JSON, or not the shape its type asks for
	ErrNotObject = errors.New("the patch is not an object")                      // and has to be
	ErrTooLarge  = errors.New("the patch is too large")                          // over a limit, or its copies are
	ErrFailed    = errors.New("the patch does not apply")                        // a failed test, an unknown operation, a missing path
	ErrDocument  = errors.New("the document to be patched is not a JSON object") // and not the patch is at fault
)

// check holds a patch to the limits of what clients may send.
func check(patch []byte) error {
	err := codec.Check(patch)
	if _, limited := errors.AsType[*codec.LimitError](err); limited {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// decode decodes a document and a patch that are both to be objects.
func decode(doc, patch []byte) (original, changes map[string]any, err error) {
	if err := check(patch); err != nil {
		return nil, nil, err
	}
	changes, err = jsontext.Unmarshal(patch)
	if err != nil {
		return nil, nil, refuse(patch, err)
	}
	original, err = jsontext.Unmarshal(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return original, changes, nil
}

// refuse says what is wrong with a patch that is not an object, in the words of encoding/json.
func refuse(patch []byte, err error) error {
	if !json.Valid(patch) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var object map[string]any
	if cause := json.Unmarshal(patch, &object); cause != nil {
		err = cause
	}
	return fmt.Errorf("%w: %w", ErrNotObject, err)
}
