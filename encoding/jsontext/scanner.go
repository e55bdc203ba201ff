package jsontext

// MaxDepth bounds the nesting of objects and arrays. It is the limit of encoding/json less the levels that a list, a Table or an
// event puts around a document, because a client in Go could not decode a list with a deeper document.
const MaxDepth = 10_000 - 10

// Scanner steps over a JSON text. It decodes nothing, and accepts exactly the texts that are valid UTF-8 and that encoding/json
// decodes to any. Its methods return false at the first error; the scanner is of no use after that.
type Scanner struct {
	doc   []byte
	pos   int
	depth int
	loose bool
	huge  []byte // a number that exceeds float64; nil: none
}

// NewScanner returns a scanner at the start of doc.
func NewScanner(doc []byte) Scanner { return Scanner{doc: doc} }

// Pos returns the position in the text.
func (s *Scanner) Pos() int { return s.pos }

// Loose reports whether the text so far contains something that AppendString and compact JSON never contain: white space between
// tokens, or U+2028 or U+2029 in a string without an escape (some readers of line-by-line streams take these for line ends).
func (s *Scanner) Loose() bool { return s.loose }

// Peek returns the next byte after white space, or 0 at the end of the text.
func (s *Scanner) Peek() byte {
	for s.pos < len(s.doc) {
		switch c := s.doc[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.loose = true
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// End reports whether only white space is left.
func (s *Scanner) End() bool {
	s.Peek()
	return s.pos == len(s.doc)
}

// Accept steps over white space and c, if c comes next.
func (s *Scanner) Accept(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.pos++
	return true
}

// Skip steps over one value of any type.
func (s *Scanner) Skip() bool {
	switch s.Peek() {
	case '{':
		return s.Object(nil)
	case '[':
		return s.Array(nil)
	default:
		_, ok := s.Scalar()
		return ok
	}
}

// Raw steps over one value and returns its text.
func (s *Scanner) Raw() ([]byte, bool) {
	s.Peek()
	start := s.pos
	ok := s.Skip()
	return s.doc[start:s.pos], ok
}

// Object steps over an object. It calls member for each member, which must step over the value; name is the text between the
// quotes, with its escapes. A nil member skips all values.
func (s *Scanner) Object(member func(name []byte) bool) bool {
	if !s.enter('{') {
		return false
	}
	if s.leave('}') {
		return true
	}
	for {
		if s.Peek() != '"' {
			return false
		}
		name, ok := s.Quoted()
		if !ok || !s.Accept(':') {
			return false
		}
		if member == nil {
			ok = s.Skip()
		} else {
			ok = member(name)
		}
		if !ok || !s.Accept(',') {
			return ok && s.leave('}')
		}
	}
}

// Array steps over an array. It calls element for each element, which must step over it; a nil element skips all.
func (s *Scanner) Array(element func() bool) bool {
	if !s.enter('[') {
		return false
	}
	if s.leave(']') {
		return true
	}
	for {
		ok := false
		if element == nil {
			ok = s.Skip()
		} else {
			ok = element()
		}
		if !ok || !s.Accept(',') {
			return ok && s.leave(']')
		}
	}
}

func (s *Scanner) enter(bracket byte) bool {
	s.depth++
	return s.depth <= MaxDepth && s.Accept(bracket)
}

func (s *Scanner) leave(bracket byte) bool {
	if !s.Accept(bracket) {
		return false
	}
	s.depth--
	return true
}

// Scalar steps over a string, a number, true, false or null and returns its text.
func (s *Scanner) Scalar() ([]byte, bool) {
	c := s.Peek()
	start, ok := s.pos, false
	switch {
	case c == '"':
		_, ok = s.Quoted()
	case c == '-' || isDigit(c):
		ok = s.number()
	case c == 't':
		ok = s.literal("true")
	case c == 'f':
		ok = s.literal("false")
	case c == 'n':
		ok = s.literal("null")
	}
	return s.doc[start:s.pos], ok
}

func (s *Scanner) literal(word string) bool {
	end := s.pos + len(word)
	if end > len(s.doc) || string(s.doc[s.pos:end]) != word {
		return false
	}
	s.pos = end
	return true
}
