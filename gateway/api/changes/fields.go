package changes

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// bookkeeping are fields of metadata that a server changes with every write.
var bookkeeping = []string{"managedFields", "resourceVersion", "generation"}

// Fields returns the paths of the fields that differ between two states of an object, as JSON: spec.replicas, spec.containers[0].image,
// metadata.annotations["example.com/a"]. The fields of metadata that a server changes with every write are not among them. A state that is no JSON
// object has no fields.
func Fields(before, after []byte) []string {
	a, b := decode(before), decode(after)
	for _, state := range []map[string]any{a, b} {
		if metadata, ok := state["metadata"].(map[string]any); ok {
			for _, name := range bookkeeping {
				delete(metadata, name)
			}
		}
	}
	return appendFields(nil, "", a, b)
}

func decode(state []byte) (out map[string]any) {
	d := json.NewDecoder(bytes.NewReader(state))
	d.UseNumber() // numbers above 2^53 differ in their last digits
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// appendFields appends the paths below path at which two values differ.
func appendFields(dst []string, path string, a, b any) []string {
	mapA, isMapA := a.(map[string]any)
	mapB, isMapB := b.(map[string]any)
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	switch {
	case isMapA && isMapB && len(mapA) > 0 && len(mapB) > 0, path == "":
		names := slices.Sorted(maps.Keys(mapB))
		for name := range mapA {
			if _, ok := mapB[name]; !ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			dst = appendMember(dst, path, name, mapA, mapB)
		}
	case isListA && isListB && len(listA) == len(listB):
		for i := range listA {
			dst = appendFields(dst, path+"["+strconv.Itoa(i)+"]", listA[i], listB[i])
		}
	case !reflect.DeepEqual(a, b):
		dst = append(dst, path)
	}
	return dst
}

func appendMember(dst []string, path, name string, a, b map[string]any) []string {
	below := join(path, name)
	valueA, inA := a[name]
	valueB, inB := b[name]
	if inA != inB {
		return append(dst, below)
	}
	return appendFields(dst, below, valueA, valueB)
}

// join appends a name to a path.
func join(path, name string) string {
	if strings.ContainsAny(name, `.[]"/`) || name == "" {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
