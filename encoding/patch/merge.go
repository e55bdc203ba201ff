package patch

import (
	"fmt"

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
