package patch

import (
	"encoding/json"
	"errors"
	"fmt"

	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
)

// The errors of patches; use errors.Is. They wrap the cause too, which may quote a part of the patch.
var (
	ErrMalformed = errors.New("the patch is malformed")     // not JSON, or of the wrong type
	ErrNotObject = errors.New("the patch is not an object") // of the types that must be
	ErrTooLarge  = errors.New("the patch is too large")     // exceeds a limit
	ErrFailed    = errors.New("the patch does not apply")   // a failed test, an unknown operation, a missing path
)

// check checks the limits of codec.
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

// decode decodes a patch that must be an object.
func decode(patch []byte) (map[string]any, error) {
	if err := check(patch); err != nil {
		return nil, err
	}
	changes, err := jsontext.Unmarshal(patch)
	if err != nil {
		return nil, explain(patch, err)
	}
	return changes, nil
}

// explain returns the error for a patch that is not an object, in the words of encoding/json.
func explain(patch []byte, err error) error {
	if !json.Valid(patch) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var object map[string]any
	if cause := json.Unmarshal(patch, &object); cause != nil {
		err = cause
	}
	return fmt.Errorf("%w: %w", ErrNotObject, err)
}
