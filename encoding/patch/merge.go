package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// merge is RFC 7386's MergePatch: null removes, an object changes what is there member by member, all else replaces.
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
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'}), nil
}
