package object

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// SameSpec reports whether two objects are equal, ignoring metadata and, without withStatus, status. If not, the generation increases.
func (d Object) SameSpec(other Object, withStatus bool) bool {
	strip := func(o Object) map[string]any {
		if withStatus {
			return without(o.Object, "metadata")
		}
		return without(without(o.Object, "metadata"), "status")
	}
	return EqualJSON(strip(d), strip(other))
}

// SameAs reports whether two objects are equal, ignoring the timestamps in managedFields.
func (d Object) SameAs(other Object) bool {
	return equalExcept("metadata", d.Object, other.Object) && equalExcept("managedFields", d.Metadata(), other.Metadata()) &&
		sameManagers(d.Metadata()["managedFields"], other.Metadata()["managedFields"])
}

func sameManagers(a, b any) bool {
	entries, ok := a.([]any)
	others, both := b.([]any)
	if !ok || !both {
		return EqualJSON(a, b)
	}
	return slices.EqualFunc(entries, others, func(a, b any) bool {
		entry, ok := a.(map[string]any)
		other, both := b.(map[string]any)
		if !ok || !both {
			return EqualJSON(a, b)
		}
		return equalExcept("time", entry, other)
	})
}

// equalExcept reports whether two objects are equal, ignoring one member.
func equalExcept(name string, a, b map[string]any) bool {
	for member, value := range a {
		if other, ok := b[member]; member != name && (!ok || !EqualJSON(value, other)) {
			return false
		}
	}
	return countExcept(name, a) == countExcept(name, b)
}

// countExcept counts the members of an object, ignoring one.
func countExcept(name string, object map[string]any) int {
	if _, ok := object[name]; ok {
		return len(object) - 1
	}
	return len(object)
}

// EqualJSON reports whether two decoded JSON values are stored alike.
func EqualJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, EqualJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, EqualJSON)
	case int64, float64, json.Number:
		switch b.(type) {
		case int64, float64, json.Number:
			return a == b || fmt.Sprint(a) == fmt.Sprint(b) // one may have been written as 1, the other as 1.0
		}
		return false
	}
	return a == b
}
