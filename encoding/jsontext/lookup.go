package jsontext

// Lookup returns the scalar at a path of member names in doc, a valid JSON text: a string, a number as it is written, true or
// false. It does not find null, objects, arrays and their elements. It does not decode the rest of doc.
func Lookup(doc []byte, path []string) (value string, found bool) {
	s := NewScanner(doc)
	text, ok := s.find(path)
	if !ok || !s.End() || len(text) == 0 {
		return "", false
	}
	switch text[0] {
	case '{', '[', 'n':
		return "", false
	case '"':
		return Unquote(text[1 : len(text)-1]), true
	}
	return string(text), true
}

// find steps over a value and returns the text of the one at a path in it; nil: there is none. It steps over each object on the path to
// its end, because the last duplicate of a member counts.
func (s *Scanner) find(path []string) (text []byte, ok bool) {
	if len(path) == 0 {
		return s.Raw()
	}
	if s.Peek() != '{' {
		return nil, s.Skip()
	}
	ok = s.Object(func(name []byte) (valid bool) {
		if !Equal(name, path[0]) {
			return s.Skip()
		}
		text, valid = s.find(path[1:])
		return valid
	})
	return text, ok
}

// Member returns the text of a member of a valid JSON object; nil: there is none. It decodes nothing.
func Member(object []byte, name string) []byte {
	s := NewScanner(object)
	text, _ := s.find([]string{name})
	return text
}

// Seek returns a scanner at the value at a path of member names in doc, and false if there is none. It reads no further than that
// value, so of duplicate members it finds the first.
func Seek(doc []byte, path ...string) (s Scanner, found bool) {
	s.doc = doc
	for _, want := range path {
		found = false
		s.Object(func(name []byte) bool {
			found = Equal(name, want)
			return !found && s.Skip()
		})
		if !found {
			return s, false
		}
	}
	s.Peek()
	return s, found
}
