package encoding

import (
	"encoding/json"
	"strconv"
)

// Unmarshal decodes a JSON object, and nothing after it. Numbers come as apimachinery has them, int64 if they are integers and
// float64 otherwise, but for those which these types cannot hold without a change, which come as json.Number.
// Strings without escapes are parts of doc, which must not change from then on: who keeps one of them for long clones it.
// The error is a *DecodeError.
func Unmarshal(doc []byte) (map[string]any, error) {
	s := scanner{doc: doc}
	value, ok := s.decoded()
	if !ok || !s.end() {
		return nil, refuse(doc)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNotObject()
	}
	return object, nil
}

// decoded steps over one value and returns it as Unmarshal has it.
func (s *scanner) decoded() (any, bool) {
	switch s.peek() {
	case '{':
		object := map[string]any{}
		ok := s.object(func(name []byte) bool {
			value, ok := s.decoded()
			object[shared(name)] = value
			return ok
		})
		return object, ok
	case '[':
		array := []any{}
		ok := s.array(func() bool {
			element, ok := s.decoded()
			array = append(array, element)
			return ok
		})
		return array, ok
	case '"':
		raw, ok := s.str()
		return shared(raw), ok
	}
	raw, ok := s.scalar()
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
	if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return i, true
	}
	return number(json.Number(raw)), true
}
