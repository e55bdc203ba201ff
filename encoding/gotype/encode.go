package gotype

import (
	"encoding/base64"
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// Encode returns the JSON members of a struct. from is a pointer to it. A list or map that is nil, and has no option omitempty, is an
// empty one instead of null: clients in other languages than Go trip over null. Strings are shared with from, and nothing else.
func Encode(from any) (map[string]any, error) {
	v := reflect.ValueOf(from).Elem()
	out, err := planOf(v.Type()).encode(v)
	object, _ := out.(map[string]any)
	return object, err
}

func encodeString(from reflect.Value) (any, error) { return from.String(), nil }

func encodeBool(from reflect.Value) (any, error) { return from.Bool(), nil }

func encodeInt(from reflect.Value) (any, error) { return from.Int(), nil }

func encodeFloat(from reflect.Value) (any, error) { return from.Float(), nil }

func encodeBytes(from reflect.Value) (any, error) {
	if from.IsNil() {
		return nil, nil
	}
	return base64.StdEncoding.EncodeToString(from.Bytes()), nil
}

func encodePointer(elem *plan) func(reflect.Value) (any, error) {
	return func(from reflect.Value) (any, error) {
		if from.IsNil() {
			return nil, nil
		}
		return elem.encode(from.Elem())
	}
}

func encodeSlice(elem *plan) func(reflect.Value) (any, error) {
	return func(from reflect.Value) (any, error) {
		if from.IsNil() {
			return nil, nil
		}
		out := make([]any, from.Len())
		for i := range out {
			var err error
			if out[i], err = elem.encode(from.Index(i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func encodeMap(elem *plan) func(reflect.Value) (any, error) {
	return func(from reflect.Value) (any, error) {
		if from.IsNil() {
			return nil, nil
		}
		out := make(map[string]any, from.Len())
		if texts, ok := from.Interface().(map[string]string); ok {
			for key, text := range texts {
				out[key] = text
			}
			return out, nil
		}
		for key, value := range from.Seq2() {
			var err error
			if out[key.String()], err = elem.encode(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func encodeStruct(members map[string]*member) func(reflect.Value) (any, error) {
	ordered := make([]*member, 0, len(members))
	for _, m := range members {
		ordered = append(ordered, m)
	}
	return func(from reflect.Value) (any, error) {
		out := make(map[string]any, count(ordered, from))
		for _, m := range ordered {
			field := from.FieldByIndex(m.index)
			if m.omit != nil && m.omit(field) {
				continue
			}
			encoded, err := m.plan.encode(field)
			if err != nil {
				return nil, err
			}
			if encoded == nil && m.empty != nil {
				encoded = m.empty()
			}
			out[m.name] = encoded
		}
		return out, nil
	}
}

// count returns how many members a struct has that are not omitted.
func count(members []*member, from reflect.Value) (n int) {
	for _, m := range members {
		if m.omit == nil || !m.omit(from.FieldByIndex(m.index)) {
			n++
		}
	}
	return n
}

// encodeByJSON encodes a type of which there is no plan.
func encodeByJSON(from reflect.Value) (out any, err error) {
	text, err := json.Marshal(from.Interface())
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &out)
	}
	return out, err
}

// encodeTime encodes the time without a copy of it.
func encodeTime(from reflect.Value) (any, error) {
	if from.CanAddr() {
		return from.Addr().Interface().(*metav1.Time).ToUnstructured(), nil
	}
	return from.Interface().(metav1.Time).ToUnstructured(), nil
}
