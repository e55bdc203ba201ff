package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

const (
	// MaxOperations bounds the operations of a JSON patch.
	MaxOperations = 10_000
	// maxCopied bounds the bytes that the copy operations of one patch add, because each copy of a copy doubles a document.
	maxCopied = 3 << 20
	// maxMoved bounds the array elements that the operations of one patch move. The library copies the array for each element that
	// is added or removed, about 40 ns per element. MaxOperations on a small document stay below it.
	maxMoved = 60_000_000
)

// moved returns an upper bound of the array elements that the operations move. An array of the document, or of a value in the patch,
// has at most as many elements as there are commas, plus one per operation.
func moved(doc []byte, operations []json.RawMessage) int {
	longest := bytes.Count(doc, []byte{','})
	for _, text := range operations {
		longest = max(longest, bytes.Count(text, []byte{','}))
	}
	return len(operations) * (longest + len(operations)/2)
}

// checkOperation refuses the operations that the library handles wrongly: empty member names, copies of the whole document, pointers
// without the first slash, and a test without a value.
func checkOperation(members map[string]json.RawMessage) error {
	op, path, from := stringOf(members["op"]), stringOf(members["path"]), stringOf(members["from"])
	switch {
	case !isPointer(path):
		return fmt.Errorf("path %q is not supported", path)
	case !isPointer(from) || op == "copy" && from == "":
		return fmt.Errorf("from %q is not supported", from)
	case op == "test" && members["value"] == nil:
		return errors.New("a test needs a value")
	}
	return nil
}

// stringOf returns the string of a JSON text, or "" for other types, which the library refuses.
func stringOf(text json.RawMessage) string {
	var value string
	if json.Unmarshal(text, &value) != nil {
		return ""
	}
	return value
}

// isPointer reports whether path is a JSON pointer without empty names.
func isPointer(path string) bool {
	return path == "" || path[0] == '/' && !strings.Contains(path+"/", "//")
}

// JSON applies a JSON patch (RFC 6902) to doc and returns the result. A negative index counts from the end of an array.
// The error wraps ErrMalformed, ErrTooLarge (also for more than MaxOperations), ErrFailed or ErrDocument.
func JSON(doc, patch []byte) ([]byte, error) {
	if err := check(patch); err != nil {
		return nil, err
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(patch, &texts); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(texts) > MaxOperations {
		return nil, fmt.Errorf("%w: it has %d operations, %d are allowed", ErrTooLarge, len(texts), MaxOperations)
	}
	if !isObject(doc) {
		return nil, ErrDocument
	}
	if moved(doc, texts) > maxMoved {
		return nil, fmt.Errorf("%w: %d operations on a document of this size; send fewer at a time", ErrTooLarge, len(texts))
	}
	for i, text := range texts {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, fmt.Errorf("%w: operation %d: %w", ErrMalformed, i, err)
		}
		if err := checkOperation(members); err != nil {
			return nil, fmt.Errorf("%w: operation %d: %w", ErrFailed, i, err)
		}
	}
	result, err := apply(doc, patch)
	if _, ok := errors.AsType[*jsonpatch.AccumulatedCopySizeError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	if !isObject(result) {
		return nil, fmt.Errorf("%w: the result is not an object", ErrFailed)
	}
	return result, nil
}

// apply calls the library, which panics on some patches, such as a test of an array that contains null.
func apply(doc, patch []byte) (result []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			result, err = nil, fmt.Errorf("cannot be evaluated: %v", cause)
		}
	}()
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxCopied
	options.EscapeHTML = false
	return decoded.ApplyWithOptions(doc, options)
}

func isObject(doc []byte) bool {
	var members map[string]json.RawMessage
	return utf8.Valid(doc) && json.Unmarshal(doc, &members) == nil && members != nil
}
