package kinds

import (
	"reflect"
	"strings"
)

// fillNulls replaces the nulls in the JSON of a type that stand for an empty list or map, in place: kube-apiserver writes null for a list
// that is empty and not optional, and clients in other languages than Go trip over it.
func fillNulls(value any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			fillMembers(value, t)
		case reflect.Map:
			for _, element := range value {
				fillNulls(element, t.Elem())
			}
		}
	case []any:
		for _, element := range value {
			fillNulls(element, t.Elem())
		}
	}
}

func fillMembers(object map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") {
			fillMembers(object, field.Type)
			continue
		}
		value, present := object[name]
		if !present {
			continue
		}
		if value == nil {
			value = zero(field.Type)
			if value == nil {
				continue // a null that is one
			}
			object[name] = value
			continue
		}
		fillNulls(value, field.Type)
	}
}

// hasNull reports whether a null is anywhere in a value.
func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range value {
			if hasNull(member) {
				return true
			}
		}
	case []any:
		for _, element := range value {
			if hasNull(element) {
				return true
			}
		}
	}
	return false
}
