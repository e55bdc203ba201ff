package object

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// SameSpec reports whether two objects are equal, ignoring metadata and, without withStatus, status. If not, the generation increases.
func (d Object) SameSpec(other Object, withStatus bool) bool {
	ignored := []string{"metadata", "status"}
	if withStatus {
		ignored = ignored[:1]
	}
	return equalExcept(d.Object, other.Object, ignored...)
}

// SameAs reports whether two objects are equal, ignoring the timestamps in managedFields.
func (d Object) SameAs(other Object) bool {
	return equalExcept(d.Object, other.Object, "metadata") && equalExcept(d.Metadata(), other.Metadata(), "managedFields") &&
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
		return equalExcept(entry, other, "time")
	})
}

// equalExcept reports whether two objects are equal, ignoring some members.
func equalExcept(a, b map[string]any, ignored ...string) bool {
	surplus := len(b) - len(a)
	for _, name := range ignored {
		if _, ok := a[name]; ok {
			surplus++
		}
		if _, ok := b[name]; ok {
			surplus--
		}
	}
	if surplus != 0 {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !slices.Contains(ignored, name) && (!ok || !EqualJSON(value, other)) {
			return false
		}
	}
	return true
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
