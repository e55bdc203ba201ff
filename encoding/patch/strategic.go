package patch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The members of a strategic merge patch that are no fields.
const (
	directive       = "$patch"
	retainKeys      = "$retainKeys"
	deletionPrefix  = "$deleteFromPrimitiveList"
	orderPrefix     = "$setElementOrder"
	deleteDirective = "delete"
	replaceStrategy = "replace"
	mergeStrategy   = "merge"
)

// Strategic applies a strategic merge patch, which must be an object, to doc, which it changes, and returns the result. dataStruct is a
// value of the Go type of the document, such as corev1.ConfigMap{}: its field tags control how lists are merged. The error wraps
// ErrMalformed, ErrNotObject, ErrTooLarge, ErrFailed or the error of ctx.
//
// The results are those of k8s.io/apimachinery/pkg/util/strategicpatch, which takes quadratic time.
func Strategic(ctx context.Context, doc map[string]any, patch []byte, dataStruct any) (map[string]any, error) {
	changes, err := decode(patch)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(dataStruct)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	m := merger{ctx: ctx}
	result, err := m.object(doc, changes, meta)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return result, err
}

// merger is one strategic merge. It changes documents and patches.
type merger struct {
	ctx      context.Context
	elements int // of all lists so far
}

// object merges a patch into an object.
func (m *merger) object(doc, patch map[string]any, meta strategicpatch.LookupPatchMeta) (map[string]any, error) {
	switch value, ok := patch[directive]; {
	case !ok:
	case value == replaceStrategy:
		delete(patch, directive)
		return patch, nil
	case value == deleteDirective:
		return map[string]any{}, nil
	default:
		return nil, unknownDirective(value)
	}
	if err := m.retainKeys(doc, patch); err != nil {
		return nil, err
	}
	if err := m.orderedLists(doc, patch, meta); err != nil {
		return nil, err
	}
	// Deletions come first, so that a value which is both deleted and added stays.
	for _, deletion := range []bool{true, false} {
		for name, change := range patch {
			if strings.HasPrefix(name, deletionPrefix) != deletion {
				continue
			}
			if err := m.member(doc, name, change, meta); err != nil {
				return nil, err
			}
		}
	}
	return doc, nil
}

// member merges one member of a patch into an object.
func (m *merger) member(doc map[string]any, name string, change any, meta strategicpatch.LookupPatchMeta) (err error) {
	deletion := strings.HasPrefix(name, deletionPrefix)
	if deletion {
		if name, err = listOf(name, deletionPrefix); err != nil {
			return err
		}
	}
	old, exists := doc[name]
	object, isObject := old.(map[string]any)
	list, isList := old.([]any)
	switch change := change.(type) {
	case nil:
		delete(doc, name)
		return nil
	case map[string]any:
		if isObject {
			doc[name], err = m.field(object, change, name, meta)
			return err
		}
	case []any:
		if isList {
			doc[name], err = m.list(list, change, name, deletion, meta)
			return err
		}
	}
	if deletion && (!exists || reflect.TypeOf(old) != reflect.TypeOf(change)) {
		return nil
	}
	if !exists || reflect.TypeOf(old) != reflect.TypeOf(change) {
		withoutNulls(change)
	}
	if value, keep := withoutDirectives(change); keep {
		doc[name] = value
	} else {
		delete(doc, name)
	}
	return nil
}

// field merges a patch into the object in a field.
func (m *merger) field(object, patch map[string]any, name string, meta strategicpatch.LookupPatchMeta) (map[string]any, error) {
	meta, field, err := meta.LookupPatchMetadataForStruct(name)
	if err != nil {
		return nil, err
	}
	strategy, err := strategyOf(field)
	if err != nil || strategy == replaceStrategy {
		return patch, err
	}
	return m.object(object, patch, meta)
}

// retainKeys removes the members of an object that the patch does not retain.
func (m *merger) retainKeys(doc, patch map[string]any) error {
	value, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	delete(patch, retainKeys)
	list, ok := value.([]any)
	if !ok {
		return errors.New("invalid patch format of retainKeys: want a list of names")
	}
	retained := make(map[string]bool, len(list))
	for _, element := range list {
		if _, err := identity(element, ""); err != nil {
			return err
		}
		if name, ok := element.(string); ok {
			retained[name] = true
		}
	}
	for name, change := range patch {
		if change != nil && !strings.HasPrefix(name, deletionPrefix) && !strings.HasPrefix(name, orderPrefix) && !retained[name] {
			return fmt.Errorf("invalid patch format of retainKeys: the patch has %.64q, and does not retain it", name)
		}
	}
	for name := range doc {
		if !retained[name] {
			delete(doc, name)
		}
	}
	return nil
}

// listOf returns the name of the list that a member with a prefix is about: "$setElementOrder/env" is about "env".
func listOf(name, prefix string) (string, error) {
	list, ok := strings.CutPrefix(name, prefix+"/")
	if !ok {
		return "", fmt.Errorf("invalid patch format: %.64q has no list's name after %s/", name, prefix)
	}
	return list, nil
}

// strategyOf returns the strategy by which a field is patched: merge, replace or none.
func strategyOf(field strategicpatch.PatchMeta) (string, error) {
	strategies := slices.DeleteFunc(slices.Clone(field.GetPatchStrategies()), func(s string) bool { return s == "retainKeys" })
	if len(strategies) > 1 {
		return "", fmt.Errorf("unexpected patch strategies %v", strategies)
	}
	return strings.Join(strategies, ""), nil
}

func unknownDirective(value any) error {
	return fmt.Errorf("unknown patch type: %.64q", fmt.Sprint(value))
}

// withoutNulls removes the members that are null.
func withoutNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if member == nil {
				delete(value, name)
			} else {
				withoutNulls(member)
			}
		}
	case []any:
		for _, element := range value {
			withoutNulls(element)
		}
	}
}

// withoutDirectives removes the objects that have a directive. False: value is one itself.
func withoutDirectives(value any) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value[directive]; ok {
			return nil, false
		}
		for name, member := range value {
			if kept, keep := withoutDirectives(member); keep {
				value[name] = kept
			} else {
				delete(value, name)
			}
		}
	case []any:
		kept := make([]any, 0, len(value))
		for _, element := range value {
			if rest, keep := withoutDirectives(element); keep {
				kept = append(kept, rest)
			}
		}
		return kept, true
	}
	return value, true
}
