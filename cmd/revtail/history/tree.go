package history

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// origin is what set a value.
type origin struct {
	revision int64 // of the change; zero: it is not known
	time     string
	manager  string

	after, until int64 // the change happened between these revisions; until zero: it is known; after zero: before the history begins
}

// tree is a JSON value with the origins of its leaves. An empty object or array is a leaf.
type tree struct {
	value    any
	origin   *origin
	members  map[string]*tree // of an object
	elements []*tree          // of an array
}

// decodeValue decodes JSON, and keeps the digits of numbers.
func decodeValue(text []byte) (value map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// grow returns the tree of a value after a change: leaves that are as before keep their origins. old is nil if there was no value.
func grow(old *tree, value any, by *origin) *tree {
	out := &tree{value: value, origin: by}
	if old != nil && reflect.DeepEqual(old.value, value) {
		return old
	}
	switch next := value.(type) {
	case map[string]any:
		out.members = make(map[string]*tree, len(next))
		for name, member := range next {
			var before *tree
			if old != nil {
				before = old.members[name]
			}
			out.members[name] = grow(before, member, by)
		}
	case []any:
		var before []*tree
		if old != nil {
			before = old.elements
		}
		for i, same := range align(before, next) {
			out.elements = append(out.elements, grow(same, next[i], by))
		}
	}
	return out
}

// align returns for each element of an array the one that it was before; nil: it is new. Elements with names are found by these, and others by their
// positions between the common beginning and end.
func align(old []*tree, next []any) []*tree {
	out := make([]*tree, len(next))
	if byName := named(old); byName != nil {
		for i, element := range next {
			out[i] = byName[nameOf(element)]
		}
		return out
	}
	from := 0
	for from < min(len(old), len(next)) && reflect.DeepEqual(old[from].value, next[from]) {
		out[from] = old[from]
		from++
	}
	oldEnd, nextEnd := len(old), len(next)
	for min(oldEnd, nextEnd) > from && reflect.DeepEqual(old[oldEnd-1].value, next[nextEnd-1]) {
		oldEnd, nextEnd = oldEnd-1, nextEnd-1
		out[nextEnd] = old[oldEnd]
	}
	for i := from; i < min(oldEnd, nextEnd); i++ {
		out[i] = old[i]
	}
	return out
}

// named returns elements by their names, if each has another one; else nil.
func named(elements []*tree) map[string]*tree {
	out := make(map[string]*tree, len(elements))
	for _, e := range elements {
		name := nameOf(e.value)
		if name == "" || out[name] != nil {
			return nil
		}
		out[name] = e
	}
	return out
}

// nameOf returns what identifies an element of an array of Kubernetes; empty: nothing does.
func nameOf(element any) string {
	object, _ := element.(map[string]any)
	for _, key := range []string{"name", "type", "uid"} {
		if text, _ := object[key].(string); text != "" {
			return key + "=" + text
		}
	}
	return ""
}
