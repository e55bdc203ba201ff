package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"revtail/encoding/jsontext"
)

const (
	// MaxOperations bounds the operations of a JSON patch.
	MaxOperations = 10_000
	// maxCopied bounds the values that the copy operations of one patch add, because each copy of a copy doubles a document.
	maxCopied = 100_000
	// maxMoved bounds the list elements that the operations of one patch move: all elements behind one that is added or removed.
	maxMoved = 100_000_000
)

// JSON applies a JSON patch (RFC 6902) to doc, which it changes, and returns the result. A negative index counts from the end of a list.
// A test for null also passes if the member is missing, as in kube-apiserver. The error wraps ErrMalformed, ErrTooLarge (also for more
// than MaxOperations), ErrFailed or the error of ctx.
func JSON(ctx context.Context, doc map[string]any, patch []byte) (map[string]any, error) {
	operations, err := decodeOperations(patch)
	if err != nil {
		return nil, err
	}
	e := editor{doc: doc}
	for i, o := range operations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch err := e.do(o); {
		case errors.Is(err, ErrTooLarge), errors.Is(err, ErrMalformed):
			return nil, fmt.Errorf("operation %d: %w", i, err)
		case err != nil: // in the words of kube-apiserver
			return nil, fmt.Errorf("%w: %w", ErrFailed, err)
		}
	}
	result, ok := e.doc.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: the result is not an object", ErrFailed)
	}
	return result, nil
}

// decodeOperations decodes a patch, and checks the number of its operations.
func decodeOperations(patch []byte) ([]any, error) {
	if err := check(patch); err != nil {
		return nil, err
	}
	value, err := jsontext.UnmarshalValue(patch)
	if operations, ok := value.([]any); ok {
		if len(operations) > MaxOperations {
			return nil, fmt.Errorf("%w: it has %d operations, %d are allowed", ErrTooLarge, len(operations), MaxOperations)
		}
		return operations, nil
	}
	var operations []any
	if cause := json.Unmarshal(patch, &operations); cause != nil {
		err = cause // in the words that clients know
	}
	return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
}

// editor changes a document by operations.
type editor struct {
	doc           any
	copied, moved int
}

// do does one operation.
func (e *editor) do(operation any) error {
	members, ok := operation.(map[string]any)
	if !ok {
		return fmt.Errorf("%w: it is not an object", ErrMalformed)
	}
	path, err := parsePointer(members, "path")
	if err != nil {
		return err
	}
	value, hasValue := members["value"]
	switch op := members["op"]; {
	case op == "remove":
		_, err = e.remove(path)
	case op == "move", op == "copy":
		err = e.transfer(members, path, op == "move")
	case op != "add" && op != "replace" && op != "test":
		return fmt.Errorf("unsupported operation %.64q", fmt.Sprint(op))
	case op == "add": // without a value it adds null, as in kube-apiserver
		err = e.add(path, value)
	case op == "replace":
		err = e.replace(path, value)
	case !hasValue:
		return errors.New("a test needs a value")
	default:
		return e.test(path, value)
	}
	if err != nil {
		return fmt.Errorf("error in %v for path: '%v': %w", members["op"], path, err)
	}
	return nil
}

// transfer does a move or a copy.
func (e *editor) transfer(members map[string]any, path pointer, move bool) error {
	from, err := parsePointer(members, "from")
	if err != nil {
		return err
	}
	if move && len(from) < len(path) && slices.Equal(from, path[:len(from)]) {
		return errors.New("a value cannot be moved into itself")
	}
	var value any
	if move {
		value, err = e.remove(from)
	} else if value, err = e.find(from); err == nil {
		value, err = e.copy(value)
	}
	if err != nil {
		return err
	}
	return e.add(path, value)
}

// copy returns a deep copy.
func (e *editor) copy(value any) (any, error) {
	if e.copied++; e.copied > maxCopied {
		return nil, fmt.Errorf("%w: it copies more than %d values", ErrTooLarge, maxCopied)
	}
	var err error
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			if out[name], err = e.copy(member); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			if out[i], err = e.copy(element); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

// test compares the value at a path with another one.
func (e *editor) test(path pointer, want any) error {
	found, err := e.find(path)
	if err != nil && !errors.Is(err, errMissing) {
		return err
	}
	if err != nil && want != nil || !equal(found, want) {
		return fmt.Errorf("testing value %v failed: %w", path, errTest)
	}
	return nil
}

// equal reports whether two values are equal. It takes as long as the second one is large.
func equal(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		a, ok := a.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, member := range b {
			if other, ok := a[name]; !ok || !equal(other, member) {
				return false
			}
		}
		return true
	case []any:
		a, ok := a.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
