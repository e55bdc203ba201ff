package patch

import "context"

// Merge applies a JSON merge patch (RFC 7386), which must be an object, to doc, which it changes, and returns the result. The error wraps
// ErrMalformed, ErrNotObject, ErrTooLarge or the error of ctx.
func Merge(ctx context.Context, doc map[string]any, patch []byte) (map[string]any, error) {
	changes, err := decode(patch)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	merge(doc, changes)
	return doc, nil
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
