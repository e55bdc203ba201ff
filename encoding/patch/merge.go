package patch

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"revtail/encoding"
)

// Merge applies a JSON merge patch (RFC 7386), which must be an object, to doc and returns the result.
// The error wraps ErrMalformed, ErrNotObject, ErrTooLarge or ErrDocument.
func Merge(doc, patch []byte) ([]byte, error) {
	original, changes, err := decode(doc, patch)
	if err != nil {
		return nil, err
	}
	merge(original, changes)
	return marshal(original)
}

// merge is MergePatch of RFC 7386: null removes a member, an object is merged, any other value replaces the member.
func merge(target, changes map[string]any) {
	for name, change := range changes {
		switch change := change.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			member, ok := target[name].(map[string]any)
			if !ok {
				member = make(map[string]any, len(change))
				target[name] = member
			}
			merge(member, change)
		default:
			target[name] = change
		}
	}
}

func marshal(object map[string]any) ([]byte, error) {
	result, err := encoding.MarshalValue(object)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return result, nil
}

// maxCompared bounds the pairs of list elements that one patch compares, about 1 µs each: the library searches each element of the
// patch in the whole list.
const maxCompared = 1_000_000

// Strategic applies a strategic merge patch, which must be an object, to doc and returns the result. dataStruct is a value of the Go
// type of the document, such as corev1.ConfigMap{}: its field tags control how lists are merged.
// The error wraps ErrMalformed, ErrNotObject, ErrTooLarge, ErrFailed or ErrDocument.
func Strategic(doc, patch []byte, dataStruct any) ([]byte, error) {
	original, changes, err := decode(doc, patch)
	if err != nil {
		return nil, err
	}
	_, longest := elements(original)
	added, longestAdded := elements(changes)
	if added*(longest+longestAdded) > maxCompared {
		return nil, fmt.Errorf("%w: %d list elements to merge into lists of up to %d", ErrTooLarge, added, longest)
	}
	result, err := mergeStrategic(original, changes, dataStruct)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return marshal(result)
}

// mergeStrategic calls the library, which panics if an element of a list has the wrong type: a merge key that is no scalar, or null
// instead of an object.
func mergeStrategic(original, changes map[string]any, dataStruct any) (result map[string]any, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a list with elements of the wrong type cannot be merged")
		}
	}()
	return strategicpatch.StrategicMergeMapPatch(original, changes, dataStruct)
}

// elements returns the number of elements of all arrays in value, and the length of the longest array.
func elements(value any) (total, longest int) {
	add := func(value any) {
		t, l := elements(value)
		total, longest = total+t, max(longest, l)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			add(member)
		}
	case []any:
		total, longest = len(value), len(value)
		for _, element := range value {
			add(element)
		}
	}
	return total, longest
}
