package jsontext

// Unmarshal decodes a JSON object, and nothing after it. Numbers are int64 or float64, as in apimachinery, or json.Number if these
// types would change them. Strings without escapes share the memory of doc, which must not change from then on: clone a string to
// keep it for long. The error is a *DecodeError.
func Unmarshal(doc []byte) (map[string]any, error) {
	value, err := UnmarshalValue(doc)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	return object, nil
}

// UnmarshalValue decodes a JSON text of any type, as Unmarshal decodes an object.
func UnmarshalValue(text []byte) (any, error) {
	s := NewScanner(text)
	value, ok := s.decode()
	if !ok || !s.End() {
		return nil, explain(text)
	}
	return value, nil
}

// decode steps over one value and returns it.
func (s *Scanner) decode() (any, bool) {
	switch s.Peek() {
	case '{':
		object := map[string]any{}
		ok := s.Object(func(name []byte) bool {
			value, ok := s.decode()
			object[UnquoteShared(name)] = value
			return ok
		})
		return object, ok
	case '[':
		array := []any{}
		ok := s.Array(func() bool {
			element, ok := s.decode()
			array = append(array, element)
			return ok
		})
		return array, ok
	case '"':
		raw, ok := s.Quoted()
		return UnquoteShared(raw), ok
	}
	raw, ok := s.Scalar()
	if !ok {
		return nil, false
	}
	switch raw[0] {
	case 't':
		return true, true
	case 'f':
		return false, true
	case 'n':
		return nil, true
	}
	return decodeNumber(raw), true
}
