package gotype

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Decode sets a zero value to decoded JSON. into is a pointer to it. Members that the type lacks are left out; names are case-sensitive.
// Strings are shared with object, and nothing else. An error says what cannot be converted, in the words of
// runtime.DefaultUnstructuredConverter.
func Decode(object map[string]any, into any) error {
	v := reflect.ValueOf(into).Elem()
	if planOf(v.Type()).decode(object, v) {
		return nil
	}
	v.SetZero()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object, into) // which knows unusual values, and the errors
}

func decodeString(from any, into reflect.Value) bool {
	s, ok := from.(string)
	if ok {
		into.SetString(s)
	}
	return ok
}

func decodeBool(from any, into reflect.Value) bool {
	b, ok := from.(bool)
	if ok {
		into.SetBool(b)
	}
	return ok
}

func decodeInt(from any, into reflect.Value) bool {
	n, ok := from.(int64)
	if !ok || into.OverflowInt(n) {
		return false
	}
	into.SetInt(n)
	return true
}

func decodeFloat(from any, into reflect.Value) bool {
	switch n := from.(type) {
	case float64:
		into.SetFloat(n)
	case int64:
		into.SetFloat(float64(n))
	default:
		return false
	}
	return true
}

func decodeBytes(from any, into reflect.Value) bool {
	s, ok := from.(string)
	if !ok {
		return false
	}
	data, err := base64.StdEncoding.DecodeString(s)
	into.SetBytes(data)
	return err == nil
}

func decodePointer(elem *plan, t reflect.Type) func(any, reflect.Value) bool {
	return func(from any, into reflect.Value) bool {
		target := reflect.New(t)
		into.Set(target)
		return elem.decode(from, target.Elem())
	}
}

func decodeSlice(elem *plan, t reflect.Type) func(any, reflect.Value) bool {
	return func(from any, into reflect.Value) bool {
		list, ok := from.([]any)
		if !ok {
			return false
		}
		out := reflect.MakeSlice(t, len(list), len(list))
		into.Set(out)
		for i, element := range list {
			if element != nil && !elem.decode(element, out.Index(i)) {
				return false
			}
		}
		return true
	}
}

func decodeMap(elem *plan, t reflect.Type) func(any, reflect.Value) bool {
	if t == reflect.TypeFor[map[string]string]() {
		return decodeTexts
	}
	return func(from any, into reflect.Value) bool {
		object, ok := from.(map[string]any)
		if !ok {
			return false
		}
		out, element := reflect.MakeMapWithSize(t, len(object)), reflect.New(t.Elem()).Elem()
		into.Set(out)
		for key, value := range object {
			element.SetZero()
			if value != nil && !elem.decode(value, element) {
				return false
			}
			out.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), element)
		}
		return true
	}
}

// decodeTexts decodes labels, annotations and the like.
func decodeTexts(from any, into reflect.Value) bool {
	object, ok := from.(map[string]any)
	if !ok {
		return false
	}
	out := make(map[string]string, len(object))
	for key, value := range object {
		s, isText := value.(string)
		if !isText && value != nil {
			return false
		}
		out[key] = s
	}
	into.Set(reflect.ValueOf(out))
	return true
}

func decodeStruct(members map[string]*member) func(any, reflect.Value) bool {
	return func(from any, into reflect.Value) bool {
		object, ok := from.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range object {
			if m := members[name]; m != nil && value != nil && !m.plan.decode(value, into.FieldByIndex(m.index)) {
				return false
			}
		}
		return true
	}
}

// decodeItself decodes a type that has an UnmarshalJSON.
func decodeItself(entry *value.TypeReflectCacheEntry) func(any, reflect.Value) bool {
	return func(from any, into reflect.Value) bool {
		return entry.FromUnstructured(reflect.ValueOf(from), into) == nil
	}
}

// decodeByJSON decodes a type of which there is no plan.
func decodeByJSON(from any, into reflect.Value) bool {
	if into.Kind() == reflect.Interface && into.NumMethod() == 0 {
		into.Set(reflect.ValueOf(from))
		return true
	}
	text, err := json.Marshal(from)
	return err == nil && json.Unmarshal(text, into.Addr().Interface()) == nil
}

// The types that are most frequent do without the text that their UnmarshalJSON takes.

func decodeTime(from any, into reflect.Value) bool {
	s, _ := from.(string)
	parsed, err := time.Parse(time.RFC3339, s)
	into.Addr().Interface().(*metav1.Time).Time = parsed.Local()
	return err == nil
}

func decodeQuantity(from any, into reflect.Value) bool {
	s, ok := from.(string)
	if !ok {
		return false
	}
	parsed, err := resource.ParseQuantity(strings.TrimSpace(s))
	*into.Addr().Interface().(*resource.Quantity) = parsed
	return err == nil
}

func decodeIntOrString(from any, into reflect.Value) bool {
	out := into.Addr().Interface().(*intstr.IntOrString)
	switch from := from.(type) {
	case string:
		*out = intstr.FromString(from)
	case int64:
		*out = intstr.FromInt32(int32(from)) //nolint:gosec // compared below
		return int64(out.IntVal) == from
	default:
		return false
	}
	return true
}
