package gatewaytest_test

import (
	gomaps "maps"
	"slices"
	"strconv"
	"strings"
)

// mutation is an object with one of its values removed or replaced.
type mutation struct {
	change string // the path of the value, and what replaces it
	object map[string]any
	// emptiesList: the value is a list, and an empty one replaces it.
	emptiesList bool
}

// mutationsOf returns the mutations of an object in each of its values but apiVersion and kind.
func mutationsOf(object map[string]any) []mutation {
	var all []mutation
	for _, r := range insideObject(object) {
		if r.path[0] != "apiVersion" && r.path[0] != "kind" {
			all = append(all, mutation{strings.Join(r.path, ".") + " " + r.change, r.value.(map[string]any), r.change == emptyList})
		}
	}
	return all
}

// replacement is the new value of a field in a mutated object.
type replacement struct {
	path   []string // of the value that changes; empty: the value itself
	change string
	value  any // nil: the value is removed
}

const emptyList = "[]"

// replacementsOf returns the replacements of a JSON value and of the values in it.
func replacementsOf(value any) []replacement {
	all := []replacement{{change: "removed"}}
	with := func(change string, value any) { all = append(all, replacement{change: change, value: value}) }
	switch v := value.(type) {
	case map[string]any:
		with("{}", map[string]any{})
		return append(all, insideObject(v)...)
	case []any:
		with(emptyList, []any{})
		if len(v) > 0 {
			with("twice", append(slices.Clone(v), v[0]))
		}
		return append(all, insideList(v)...)
	case bool:
		with("negated", !v)
	case int64:
		with("-1", -1)
		with("0", 0)
		with("big", 2_000_000_001)
	case string:
		with("empty", "")
		with("invalid", "Not_Valid!")
		with("long", strings.Repeat("x", 300))
		with("other", "other")
	}
	return all
}

// insideObject returns copies of a JSON object with a replacement in one member.
func insideObject(object map[string]any) []replacement {
	var all []replacement
	for _, key := range slices.Sorted(gomaps.Keys(object)) {
		for _, r := range replacementsOf(object[key]) {
			changed := gomaps.Clone(object)
			if changed[key] = r.value; r.value == nil {
				delete(changed, key)
			}
			all = append(all, r.in(key, changed))
		}
	}
	return all
}

// insideList returns copies of a list with a replacement in one element. It leaves out the one that removes the only element: that is the
// empty list.
func insideList(list []any) []replacement {
	var all []replacement
	for i, element := range list {
		for _, r := range replacementsOf(element) {
			changed := slices.Clone(list)
			if changed[i] = r.value; r.value == nil {
				changed = slices.Delete(changed, i, i+1)
			}
			if len(changed) > 0 {
				all = append(all, r.in(strconv.Itoa(i), changed))
			}
		}
	}
	return all
}

// in returns the replacement as one of the value around it.
func (r replacement) in(key string, around any) replacement {
	return replacement{append([]string{key}, r.path...), r.change, around}
}
