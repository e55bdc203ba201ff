package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// object is a JSON object; its numbers are json.Number.
type object map[string]any

func parseObject(text string) (object, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var out object
	err := decoder.Decode(&out)
	return out, err
}

// at returns the value at a dotted path; further keys, which may have dots in them, are below it. Nil: there is none.
func (o object) at(path string, keys ...string) any {
	var here any = o
	for _, key := range append(strings.Split(path, "."), keys...) {
		switch level := here.(type) {
		case object:
			here = level[key]
		case map[string]any:
			here = level[key]
		default:
			return nil
		}
	}
	return here
}

// text returns the scalar at a path, as text; empty: there is none.
func (o object) text(path string, keys ...string) string {
	if value := o.at(path, keys...); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// has reports whether there is a value, also for null.
func (o object) has(path string) bool {
	parent, member := o, path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		above, _ := o.at(path[:i]).(map[string]any)
		parent, member = above, path[i+1:]
	}
	_, ok := parent[member]
	return ok
}

// list returns the objects of the array at a path.
func (o object) list(path string) []object {
	array, _ := o.at(path).([]any)
	out := make([]object, 0, len(array))
	for _, item := range array {
		member, _ := item.(map[string]any)
		out = append(out, member)
	}
	return out
}

func (o object) name() string { return o.text("metadata.name") }

// rv returns the resourceVersion; zero: there is none, or it is not a number.
func (o object) rv() int64 {
	n, _ := strconv.ParseInt(o.text("metadata.resourceVersion"), 10, 64)
	return n
}

// version returns the resourceVersion unchanged.
func (o object) version() string { return o.text("metadata.resourceVersion") }

// with returns a deep copy with another value at a path; nil removes.
func (o object) with(path string, value any) object {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // made of maps and scalars by the tests themselves
	}
	out, err := parseObject(string(text))
	if err != nil {
		panic(err)
	}
	here := map[string]any(out)
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		below, ok := here[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			here[key] = below
		}
		here = below
	}
	if value == nil {
		delete(here, keys[len(keys)-1])
	} else {
		here[keys[len(keys)-1]] = value
	}
	return out
}

// nest returns an object with only a value at a path.
func nest(path string, value any) object {
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i > 0; i-- {
		value = object{keys[i]: value}
	}
	return object{keys[0]: value}
}

// names returns the names of the items of a list.
func names(list object) []string {
	out := []string{}
	for _, item := range list.list("items") {
		out = append(out, item.name())
	}
	return out
}
