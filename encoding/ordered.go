package encoding

import (
	"bytes"
	"slices"
)

// ordered is a JSON object whose members keep their order: what a foreign value is decoded to, to be mended and written
// again. A value is *ordered, []any, or the text of a scalar as []byte, so that numbers stay as they were written.
type ordered struct {
	names  []string
	values map[string]any
}

// set replaces the value of a member where it stands, or adds the member at the end.
func (o *ordered) set(name string, value any) {
	if _, found := o.values[name]; !found {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// setFirst is set, but a new member goes to the front.
func (o *ordered) setFirst(name string, value any) {
	if _, found := o.values[name]; !found {
		o.names = slices.Insert(o.names, 0, name)
	}
	o.values[name] = value
}

func (o *ordered) remove(name string) {
	if i := slices.Index(o.names, name); i >= 0 {
		o.names = slices.Delete(o.names, i, i+1)
		delete(o.values, name)
	}
}

// value steps over one value and returns it decoded.
func (s *scanner) value() (any, bool) {
	switch s.peek() {
	case '{':
		object := &ordered{values: map[string]any{}}
		ok := s.object(func(name []byte) bool {
			value, ok := s.value()
			object.set(unquote(name), value)
			return ok
		})
		return object, ok
	case '[':
		array := []any{}
		ok := s.array(func() bool {
			value, ok := s.value()
			array = append(array, value)
			return ok
		})
		return array, ok
	default:
		return s.scalar()
	}
}

// appendOrdered appends a decoded value as JSON, compact and free of line ends.
func appendOrdered(dst []byte, value any) []byte {
	switch value := value.(type) {
	case *ordered:
		dst = append(dst, '{')
		for i, name := range value.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, name), ':')
			dst = appendOrdered(dst, value.values[name])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, element := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendOrdered(dst, element)
		}
		return append(dst, ']')
	default:
		return appendScalar(dst, value.([]byte))
	}
}

// lineEnds are U+2028 and U+2029 in UTF-8, up to their last byte.
var lineEnds = []byte{0xe2, 0x80}

// appendScalar appends the text of a scalar as it was written, but for U+2028 and U+2029, which it escapes.
func appendScalar(dst, text []byte) []byte {
	for {
		i := bytes.Index(text, lineEnds)
		if i < 0 || i+2 >= len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		switch text[i+2] {
		case 0xa8:
			dst = append(dst, `\u2028`...)
		case 0xa9:
			dst = append(dst, `\u2029`...)
		default:
			dst = append(dst, text[i:i+3]...)
		}
		text = text[i+3:]
	}
}
