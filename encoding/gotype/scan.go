package gotype

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/jsontext"
)

// Unmarshal sets a zero value to a JSON document. into is a pointer to it. Members that the type lacks are left out; names are case-sensitive.
// Strings share the memory of document, which must not change as long as into is used. An error says why the document is not of the type, in the
// words of sigs.k8s.io/json.
func Unmarshal(document []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	s := jsontext.NewScanner(document)
	if planOf(v.Type()).scanValue(&s, v) && s.End() {
		return nil
	}
	v.SetZero()
	return kjson.UnmarshalCaseSensitivePreserveInts(document, into) // which knows unusual values, and the errors
}

// scanValue scans a value or a null.
func (p *plan) scanValue(s *jsontext.Scanner, into reflect.Value) bool {
	if s.Peek() == 'n' {
		_, ok := s.Scalar()
		return ok
	}
	return p.scan(s, into)
}

// quoted scans a string.
func quoted(s *jsontext.Scanner) (string, bool) {
	if s.Peek() != '"' {
		return "", false
	}
	raw, ok := s.Quoted()
	if !ok {
		return "", false
	}
	return jsontext.UnquoteShared(raw), true
}

func scanString(s *jsontext.Scanner, into reflect.Value) bool {
	text, ok := quoted(s)
	into.SetString(text)
	return ok
}

func scanBool(s *jsontext.Scanner, into reflect.Value) bool {
	raw, ok := s.Scalar()
	into.SetBool(string(raw) == "true")
	return ok && (raw[0] == 't' || raw[0] == 'f')
}

func scanInt(s *jsontext.Scanner, into reflect.Value) bool {
	raw, ok := s.Scalar()
	if !ok {
		return false
	}
	n, ok := parseInt(raw)
	if !ok || into.OverflowInt(n) {
		return false
	}
	into.SetInt(n)
	return true
}

// parseInt parses an integer of at most eighteen digits, which fits into an int64.
func parseInt(raw []byte) (n int64, ok bool) {
	const most = 18
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > most {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if raw[0] == '-' {
		n = -n
	}
	return n, true
}

func scanBytes(s *jsontext.Scanner, into reflect.Value) bool {
	text, ok := quoted(s)
	if !ok {
		return false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	into.SetBytes(data)
	return err == nil
}

func scanPointer(elem *plan, t reflect.Type) scanFunc {
	return func(s *jsontext.Scanner, into reflect.Value) bool {
		target := reflect.New(t)
		into.Set(target)
		return elem.scan(s, target.Elem())
	}
}

func scanSlice(elem *plan, t reflect.Type) scanFunc {
	return func(s *jsontext.Scanner, into reflect.Value) bool {
		if s.Peek() != '[' {
			return false
		}
		into.Set(reflect.MakeSlice(t, 0, 0))
		return s.Array(func() bool {
			n := into.Len()
			if n == into.Cap() {
				into.Grow(1)
			}
			into.SetLen(n + 1)
			return elem.scanValue(s, into.Index(n))
		})
	}
}

func scanMap(elem *plan, t reflect.Type) scanFunc {
	if t == reflect.TypeFor[map[string]string]() {
		return scanTexts
	}
	return func(s *jsontext.Scanner, into reflect.Value) bool {
		if s.Peek() != '{' {
			return false
		}
		into.Set(reflect.MakeMap(t))
		element := reflect.New(t.Elem()).Elem()
		return s.Object(func(name []byte) bool {
			element.SetZero()
			if !elem.scanValue(s, element) {
				return false
			}
			into.SetMapIndex(reflect.ValueOf(jsontext.UnquoteShared(name)).Convert(t.Key()), element)
			return true
		})
	}
}

// scanTexts scans labels, annotations and the like.
func scanTexts(s *jsontext.Scanner, into reflect.Value) bool {
	if s.Peek() != '{' {
		return false
	}
	out := map[string]string{}
	into.Set(reflect.ValueOf(out))
	return s.Object(func(name []byte) bool {
		text, ok := quoted(s)
		out[jsontext.UnquoteShared(name)] = text
		return ok
	})
}

func scanStruct(members map[string]*member) scanFunc {
	return func(s *jsontext.Scanner, into reflect.Value) bool {
		return s.Peek() == '{' && s.Object(func(name []byte) bool {
			m := members[string(name)] // a name with an escape is that of no member, or an unusual one
			if m == nil {
				return !jsontext.Escaped(name) && s.Skip()
			}
			field := into.FieldByIndex(m.index)
			return field.IsZero() && m.plan.scanValue(s, field) // not zero: two members have one name, which is unusual
		})
	}
}

// scanItself scans a type that has an UnmarshalJSON.
func scanItself(s *jsontext.Scanner, into reflect.Value) bool {
	raw, ok := s.Raw()
	return ok && into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil
}

// scanByJSON scans a type of which there is no plan.
func scanByJSON(s *jsontext.Scanner, into reflect.Value) bool {
	raw, ok := s.Raw()
	return ok && kjson.UnmarshalCaseSensitivePreserveInts(raw, into.Addr().Interface()) == nil
}

func scanTime(s *jsontext.Scanner, into reflect.Value) bool {
	text, ok := quoted(s)
	parsed, err := time.Parse(time.RFC3339, text)
	into.Addr().Interface().(*metav1.Time).Time = parsed.Local()
	return ok && err == nil
}

func scanQuantity(s *jsontext.Scanner, into reflect.Value) bool {
	text, ok := quoted(s)
	if !ok {
		return false
	}
	parsed, err := resource.ParseQuantity(strings.TrimSpace(text))
	*into.Addr().Interface().(*resource.Quantity) = parsed
	return err == nil
}
