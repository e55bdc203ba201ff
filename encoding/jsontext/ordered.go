package jsontext

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Object is a decoded JSON object whose members keep their order.
type Object struct {
	Names  []string
	Values map[string]any // *Object, []any or Scalar
}

// NewObject returns an object without members.
func NewObject() *Object { return &Object{Values: map[string]any{}} }

// Scalar is the text of a scalar. Its numbers keep their digits.
type Scalar []byte

// Text returns the string that the scalar is, or false if it is no string.
func (s Scalar) Text() (string, bool) {
	if s[0] != '"' {
		return "", false
	}
	return Unquote(s[1 : len(s)-1]), true
}

// Set replaces the value of a member, or appends the member.
func (o *Object) Set(name string, value any) {
	if _, found := o.Values[name]; !found {
		o.Names = append(o.Names, name)
	}
	o.Values[name] = value
}

// SetFirst replaces the value of a member, or puts the member before all others.
func (o *Object) SetFirst(name string, value any) {
	if _, found := o.Values[name]; !found {
		o.Names = slices.Insert(o.Names, 0, name)
	}
	o.Values[name] = value
}

// Remove removes a member, if it exists.
func (o *Object) Remove(name string) {
	if i := slices.Index(o.Names, name); i >= 0 {
		o.Names = slices.Delete(o.Names, i, i+1)
		delete(o.Values, name)
	}
}

// Parse decodes a JSON text of any type to a *Object, a []any or a Scalar. The error is a *DecodeError.
func Parse(doc []byte) (any, error) {
	s := NewScanner(doc)
	value, ok := s.parse()
	if !ok || !s.End() {
		return nil, explain(doc)
	}
	return value, nil
}

// parse steps over one value and returns it.
func (s *Scanner) parse() (any, bool) {
	switch s.Peek() {
	case '{':
		object := NewObject()
		ok := s.Object(func(name []byte) bool {
			value, ok := s.parse()
			object.Set(Unquote(name), value)
			return ok
		})
		return object, ok
	case '[':
		array := []any{}
		ok := s.Array(func() bool {
			value, ok := s.parse()
			array = append(array, value)
			return ok
		})
		return array, ok
	default:
		text, ok := s.Scalar()
		return Scalar(text), ok
	}
}

// AppendParsed appends a value of Parse as JSON, compact and without line ends.
func AppendParsed(dst []byte, value any) []byte {
	switch value := value.(type) {
	case *Object:
		dst = append(dst, '{')
		for i, name := range value.Names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, name), ':')
			dst = AppendParsed(dst, value.Values[name])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, element := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendParsed(dst, element)
		}
		return append(dst, ']')
	default:
		return appendScalar(dst, value.(Scalar))
	}
}

var lineEnds = []struct{ char, escape []byte }{{[]byte("\u2028"), []byte(`\u2028`)}, {[]byte("\u2029"), []byte(`\u2029`)}}

// appendScalar appends a scalar with U+2028 and U+2029 escaped.
func appendScalar(dst, text []byte) []byte {
	for _, e := range lineEnds {
		if bytes.Contains(text, e.char) {
			text = bytes.ReplaceAll(text, e.char, e.escape)
		}
	}
	return append(dst, text...)
}

// Compact returns a JSON value of any type without white space between its tokens. It returns value itself if there is none. The
// error is a *DecodeError.
func Compact(value []byte) ([]byte, error) {
	compact, ok := TryCompact(value)
	if !ok {
		return nil, explain(value)
	}
	return compact, nil
}

// TryCompact is Compact without an explanation of the error.
func TryCompact(value []byte) (compact []byte, ok bool) {
	s := NewScanner(value)
	if !s.Skip() || !s.End() {
		return nil, false
	}
	if !s.loose {
		return value, true
	}
	out := bytes.NewBuffer(make([]byte, 0, len(value)))
	err := json.Compact(out, value)
	return out.Bytes(), err == nil
}

// Indent returns a JSON document with an indentation of two spaces per level. It keeps a newline at the end of doc.
func Indent(doc []byte) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(len(doc) * 2)
	if err := json.Indent(&buffer, doc, "", "  "); err != nil {
		return nil, &DecodeError{Reason: "not JSON", Err: err}
	}
	return buffer.Bytes(), nil
}
