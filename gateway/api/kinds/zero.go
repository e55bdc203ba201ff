package kinds

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Zero implements resource.Strategy.
func (s *strategy) Zero() map[string]any { return s.zero }

// zeroObject returns the zero object of a kind.
func zeroObject(kind schema.GroupVersionKind, goType reflect.Type) map[string]any {
	object, _ := zero(goType).(map[string]any) // every kind is a struct
	object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
	return object
}

// zero returns the JSON of the zero value of a type, with empty lists and maps for nil ones. It returns nil for null.
func zero(t reflect.Type) any {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return zeroMarshaled(t)
	}
	switch t.Kind() {
	case reflect.Struct:
		object := map[string]any{}
		addZeros(object, t)
		return object
	case reflect.Map:
		return map[string]any{}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil // base64
		}
		return []any{}
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Int, reflect.Int32, reflect.Int64:
		return int64(0)
	}
	return nil
}

// addZeros adds the members of a struct that are in its JSON although they are zero.
func addZeros(object map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case strings.Contains(options, "inline"):
			addZeros(object, field.Type)
		case name == "" || name == "-" || strings.Contains(options, "omitzero"):
		case strings.Contains(options, "omitempty") && field.Type.Kind() != reflect.Struct:
		default:
			if value := zero(field.Type); value != nil || isTime(field.Type) {
				object[name] = value
			}
		}
	}
}

// isTime reports whether a type is a time, of which there is always a member: null, if it is zero.
func isTime(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[metav1.MicroTime]()
}

// zeroMarshaled is zero for a type that makes its JSON itself.
func zeroMarshaled(t reflect.Type) any {
	var value any
	text, err := json.Marshal(reflect.New(t).Interface())
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if number, ok := value.(float64); ok && err == nil {
		return int64(number)
	}
	return value
}
