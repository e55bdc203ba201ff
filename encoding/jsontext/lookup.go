package jsontext

// Lookup returns the scalar at a path of member names in doc, a valid JSON text: a string, a number as it is written, true or
// false. It does not find null, objects, arrays and their elements. It does not decode the rest of doc.
func Lookup(doc []byte, path []string) (value string, found bool) {
	l := lookup{Scanner: NewScanner(doc), path: path}
	if len(path) == 0 || !l.Object(l.member) || !l.End() || len(l.text) == 0 {
		return "", false
	}
	switch {
	case l.text[0] == '"':
		return Unquote(l.text[1 : len(l.text)-1]), true
	case string(l.text) == "null":
		return "", false
	default:
		return string(l.text), true
	}
}

// lookup is a scan for a path. It scans each object on the path to its end, because the last duplicate of a member counts.
type lookup struct {
	Scanner
	path  []string
	depth int    // number of names of path that lead to the current object
	text  []byte // the scalar; nil: not found
}

func (l *lookup) member(name []byte) bool {
	if !Equal(name, l.path[l.depth]) {
		return l.Skip()
	}
	l.text = nil // forget the value of an earlier duplicate
	first, last := l.Peek(), l.depth == len(l.path)-1
	switch {
	case first == '{' && !last:
		l.depth++
		ok := l.Object(l.member)
		l.depth--
		return ok
	case first == '{' || first == '[' || !last:
		return l.Skip()
	default:
		text, ok := l.Scalar()
		l.text = text
		return ok
	}
}

// Member returns the text of a member of a valid JSON object; nil: there is none. It decodes nothing.
func Member(object []byte, name string) []byte {
	var found []byte
	s := NewScanner(object)
	s.Object(func(member []byte) bool {
		if !Equal(member, name) {
			return s.Skip()
		}
		text, ok := s.Raw()
		found = text
		return ok
	})
	return found
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
