package patch

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rfc6902 is the oracle of JSON: it applies one operation to decoded values without modifying them. It fails the test if the operation does
// not apply.
func rfc6902(t *testing.T, doc any, step map[string]any) any {
	t.Helper()
	path, _ := step["path"].(string)
	from, _ := step["from"].(string)
	switch step["op"] {
	case "add":
		return edit(t, doc, path, addTo(step["value"]))
	case "remove":
		return edit(t, doc, path, removeFrom)
	case "replace":
		find(t, doc, path)
		return edit(t, doc, path, replaceIn(step["value"]))
	case "move":
		value := find(t, doc, from)
		return edit(t, edit(t, doc, from, removeFrom), path, addTo(value))
	case "copy":
		return edit(t, doc, path, addTo(find(t, doc, from)))
	case "test":
		if step["value"] == nil && !exists(doc, path) {
			return doc
		}
		if got := find(t, doc, path); !reflect.DeepEqual(got, step["value"]) {
			t.Errorf("test of %q passes: %v, want %v", path, got, step["value"])
		}
		return doc
	}
	t.Fatalf("an unknown operation applies: %v", step)
	return nil
}

// exists reports whether all names of a pointer exist.
func exists(doc any, path string) bool {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path[1:], "/")
		if path != "" {
			path = "/" + path
		}
		object, ok := doc.(map[string]any)
		if !ok {
			return false
		}
		if doc, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return false
		}
	}
	return true
}

// find returns the value at a pointer.
func find(t *testing.T, doc any, path string) any {
	t.Helper()
	var found any
	if path == "" {
		return doc
	}
	edit(t, doc, path, func(_ *testing.T, parent any, name string) any {
		switch parent := parent.(type) {
		case map[string]any:
			value, ok := parent[name]
			if !ok {
				t.Fatalf("%q is missing, but was found", path)
			}
			found = value
		case []any:
			found = parent[position(t, name, len(parent)-1)]
		}
		return parent
	})
	return found
}

// edit returns doc with the parent of the value at path replaced by change(parent, last name of path).
func edit(t *testing.T, doc any, path string, change func(t *testing.T, parent any, name string) any) any {
	t.Helper()
	if path == "" {
		return change(t, nil, "")
	}
	name, rest, more := strings.Cut(path[1:], "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	if !more {
		return change(t, doc, name)
	}
	switch doc := doc.(type) {
	case map[string]any:
		child, ok := doc[name]
		if !ok {
			t.Fatalf("%q has no parent, but was changed", path)
		}
		return replaceIn(edit(t, child, "/"+rest, change))(t, doc, name)
	case []any:
		return replaceIn(edit(t, doc[position(t, name, len(doc)-1)], "/"+rest, change))(t, doc, name)
	}
	t.Fatalf("%q has a scalar as a parent", path)
	return nil
}

func addTo(value any) func(t *testing.T, parent any, name string) any {
	return func(t *testing.T, parent any, name string) any {
		t.Helper()
		if array, ok := parent.([]any); ok {
			i := len(array)
			if name != "-" {
				i = position(t, name, len(array))
			}
			return slices.Insert(slices.Clone(array), i, value)
		}
		return replaceIn(value)(t, parent, name)
	}
}

func replaceIn(value any) func(t *testing.T, parent any, name string) any {
	return func(t *testing.T, parent any, name string) any {
		t.Helper()
		switch parent := parent.(type) {
		case nil: // the whole document
			return value
		case map[string]any:
			changed := map[string]any{name: value}
			for other, kept := range parent {
				if other != name {
					changed[other] = kept
				}
			}
			return changed
		case []any:
			changed := slices.Clone(parent)
			changed[position(t, name, len(parent)-1)] = value
			return changed
		}
		t.Fatalf("%q changes a member of a scalar", name)
		return nil
	}
}

func removeFrom(t *testing.T, parent any, name string) any {
	t.Helper()
	switch parent := parent.(type) {
	case map[string]any:
		changed := map[string]any{}
		for other, kept := range parent {
			if other != name {
				changed[other] = kept
			}
		}
		if len(changed) == len(parent) {
			t.Fatalf("%q is missing, but was removed", name)
		}
		return changed
	case []any:
		i := position(t, name, len(parent)-1)
		return slices.Delete(slices.Clone(parent), i, i+1)
	}
	t.Fatalf("%q is removed from a scalar", name)
	return nil
}

// position returns an index up to last; a negative one counts from the end.
func position(t *testing.T, name string, last int) int {
	t.Helper()
	i, err := strconv.Atoi(name)
	if i < 0 {
		i += last + 1
	}
	if err != nil || i < 0 || i > last {
		t.Fatalf("%q is not an index up to %d", name, last)
	}
	return i
}
