package patch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxMerged bounds the list elements that one patch visits. A patch that names each list once stays below it.
const maxMerged = 1_000_000

// The errors of lists that have no rule.
var (
	errUnmergeable = errors.New("a list with elements of the wrong type cannot be merged")
	errIdentity    = errors.New("a list cannot be merged, because what identifies an element is not a scalar")
)

// visit counts the elements of lists, and ends the merge when its client has left.
func (m *merger) visit(lists ...[]any) error {
	for _, list := range lists {
		m.elements += len(list)
	}
	if m.elements > maxMerged {
		return fmt.Errorf("%w: it merges into the same lists again and again, %d elements in all", ErrTooLarge, m.elements)
	}
	return m.ctx.Err()
}

// list merges a patch into the list in a field, or deletes the patch's elements from it.
func (m *merger) list(list, patch []any, name string, deletion bool, meta strategicpatch.LookupPatchMeta) ([]any, error) {
	meta, field, err := meta.LookupPatchMetadataForSlice(name)
	if err != nil {
		return nil, err
	}
	strategy, err := strategyOf(field)
	if err != nil || strategy != mergeStrategy && !deletion {
		return patch, err
	}
	return m.elementsOf(list, patch, field.GetPatchMergeKey(), deletion, meta)
}

// elementsOf merges the elements of a patch into those of a list.
func (m *merger) elementsOf(list, patch []any, key string, deletion bool, meta strategicpatch.LookupPatchMeta) ([]any, error) {
	if len(list)+len(patch) == 0 {
		return list, nil
	}
	if err := m.visit(list, patch); err != nil {
		return nil, err
	}
	objects, err := areObjects(list, patch)
	var merged []any
	switch {
	case err != nil:
		return nil, err
	case !objects && deletion:
		gone := setOf(patch)
		return slices.DeleteFunc(slices.Clone(list), func(value any) bool { return gone[value] }), nil
	case !objects:
		merged = unique(slices.Concat(list, patch))
	case key == "":
		return nil, fmt.Errorf("cannot merge lists without merge key for %s", meta.Name())
	default:
		if list, patch, err = applyDirectives(list, patch, key); err != nil {
			return nil, err
		}
		if merged, err = m.objects(list, patch, key, meta); err != nil {
			return nil, err
		}
	}
	return arrange(merged, patch, list, key)
}

// areObjects reports whether the elements of all lists are objects, or scalars of one type. Other elements cannot be merged.
func areObjects(lists ...[]any) (bool, error) {
	elements := slices.Concat(lists...)
	if len(elements) == 0 {
		return false, errUnmergeable
	}
	_, objects := elements[0].(map[string]any)
	_, nested := elements[0].([]any)
	first := reflect.TypeOf(elements[0])
	if nested || first == nil || slices.ContainsFunc(elements, func(element any) bool { return reflect.TypeOf(element) != first }) {
		return false, errUnmergeable
	}
	return objects, nil
}

// setOf returns the set of scalars.
func setOf(scalars []any) map[any]bool {
	set := make(map[any]bool, len(scalars))
	for _, value := range scalars {
		set[value] = true
	}
	return set
}

// unique removes repeated scalars.
func unique(scalars []any) []any {
	seen := make(map[any]bool, len(scalars))
	return slices.DeleteFunc(scalars, func(value any) bool {
		again := seen[value]
		seen[value] = true
		return again
	})
}

// applyDirectives removes the elements of a patch that have directives, and does what these say: it deletes elements of the list, or
// replaces the list.
func applyDirectives(list, patch []any, key string) (kept, rest []any, err error) {
	gone, replace := map[any]bool{}, false
	for _, element := range patch {
		element := element.(map[string]any) //nolint:forcetypeassert // areObjects has checked it
		switch value, ok := element[directive]; {
		case !ok:
			rest = append(rest, element)
		case value == deleteDirective:
			id, err := identity(element, key)
			if err != nil {
				return nil, nil, err
			}
			gone[id] = true
		case value == replaceStrategy:
			replace = true
		default:
			return nil, nil, unknownDirective(value)
		}
	}
	if replace {
		return rest, nil, nil
	}
	if len(gone) > 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(element any) bool {
			id, err := identity(element, key)
			return err == nil && gone[id]
		})
	}
	return list, rest, nil
}

// objects merges each object of a patch into the one with the same merge key, or appends it.
func (m *merger) objects(list, patch []any, key string, meta strategicpatch.LookupPatchMeta) ([]any, error) {
	merged := slices.Clone(list)
	if len(patch) == 0 {
		return merged, nil
	}
	at := positions(list, key)
	for _, change := range patch {
		id, err := identity(change, key)
		if err != nil {
			return nil, err
		}
		i, ok := at[id]
		if !ok {
			at[id] = len(merged)
			merged = append(merged, change)
			continue
		}
		if merged[i], err = m.object(merged[i].(map[string]any), change.(map[string]any), meta); err != nil { //nolint:forcetypeassert // areObjects has checked it
			return nil, err
		}
	}
	return merged, nil
}

// identity returns what identifies an element: its merge key or, without one, the scalar itself.
func identity(element any, key string) (any, error) {
	if key != "" {
		object, ok := element.(map[string]any)
		if !ok {
			return nil, errUnmergeable
		}
		if element, ok = object[key]; !ok {
			return nil, fmt.Errorf("an element of a list does not contain declared merge key: %s", key)
		}
	}
	switch element.(type) {
	case map[string]any, []any:
		return nil, errIdentity
	}
	return element, nil
}

// positions maps the identities of elements to their first positions. It leaves out elements without one.
func positions(list []any, key string) map[any]int {
	at := make(map[any]int, len(list))
	for i, element := range list {
		if id, err := identity(element, key); err == nil {
			if _, again := at[id]; !again {
				at[id] = i
			}
		}
	}
	return at
}
