package encoding

// Member returns the text of a member of object, which is the text of a JSON object in a document made by Normalize or
// AppendKeyValue; nil: there is none. Of members of the same name the last counts. Nothing else is decoded.
func Member(object []byte, name string) []byte {
	var found []byte
	s := scanner{doc: object}
	s.object(func(member []byte) bool {
		if !is(member, name) {
			return s.skip()
		}
		text, ok := s.raw()
		found = text
		return ok
	})
	return found
}

// UnmarshalValue decodes a JSON text of any type, as Unmarshal decodes an object.
func UnmarshalValue(text []byte) (any, error) {
	s := scanner{doc: text}
	value, ok := s.decoded()
	if !ok || !s.end() {
		return nil, refuse(text)
	}
	return value, nil
}
