package protobuf

import (
	"reflect"
	"strings"
)

// prune removes the members that Go always writes from value, the JSON of a Go value of type t: null, and empty optional structs. It
// keeps types with their own MarshalJSON, because they have no fields with JSON names. It keeps a null of an optional pointer, such as
// the default of a schema, because Go would have omitted a nil pointer.
func prune(t reflect.Type, value any) {
	switch t.Kind() {
	case reflect.Pointer:
		prune(t.Elem(), value)
	case reflect.Slice:
		list, _ := value.([]any)
		for _, element := range list {
			prune(t.Elem(), element)
		}
	case reflect.Struct:
		if object, ok := value.(map[string]any); ok {
			pruneFields(t, object)
		}
	}
}

func pruneFields(t reflect.Type, object map[string]any) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			pruneFields(field.Type, object)
			continue
		case name == "" || name == "-":
			continue
		}
		value, ok := object[name]
		if !ok {
			continue
		}
		prune(field.Type, value)
		optional, kind := strings.Contains(options, "omitempty"), field.Type.Kind()
		members, isObject := value.(map[string]any)
		isNull := value == nil && !(optional && kind == reflect.Pointer)
		isEmpty := isObject && len(members) == 0 && optional && kind == reflect.Struct
		if isNull || isEmpty {
			delete(object, name)
		}
	}
}
