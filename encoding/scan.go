package encoding

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// maxDepth bounds the recursion of scanner. It is encoding/json's own limit less what a list, a Table or an event puts around a
// document: one that is too deep there would spoil the others for every client in Go.
const maxDepth = 10_000 - 10

// scanner walks over a JSON text once, checks that it is valid JSON and valid UTF-8 that encoding/json can decode to any, and
// decodes nothing.
// Its methods report false at the first fault; the scanner is of no use after that.
type scanner struct {
	doc   []byte
	pos   int
	depth int
	// loose is set by what Marshal never writes: white space between tokens, and U+2028 or U+2029 not escaped in a string
	// (both are line ends to some readers of line-by-line streams).
	loose bool
	vast  []byte // a number that is more than a float64 holds; nil: none was met
}

// peek returns the byte at the position, after white space; 0 at the end of the text.
func (s *scanner) peek() byte {
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

// end reports whether nothing but white space is left.
func (s *scanner) end() bool {
	s.peek()
	return s.pos == len(s.doc)
}

// accept steps over c, and over the white space before it, if c comes next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// skip steps over one value of any type.
func (s *scanner) skip() bool {
	switch s.peek() {
	case '{':
		return s.object(nil)
	case '[':
		return s.array(nil)
	default:
		_, ok := s.scalar()
		return ok
	}
}

// raw steps over one value and returns its text.
func (s *scanner) raw() ([]byte, bool) {
	s.peek()
	start := s.pos
	ok := s.skip()
	return s.doc[start:s.pos], ok
}

// object steps over an object. For each member it calls member, which has to step over the value; name is the text between
// the quotes, escapes and all. A nil member steps over every value.
func (s *scanner) object(member func(name []byte) bool) bool {
	if !s.enter('{') {
		return false
	}
	if s.leave('}') {
		return true
	}
	for {
		if s.peek() != '"' {
			return false
		}
		name, ok := s.str()
		if !ok || !s.accept(':') {
			return false
		}
		if member == nil {
			ok = s.skip()
		} else {
			ok = member(name)
		}
		if !ok || !s.accept(',') {
			return ok && s.leave('}')
		}
	}
}

// array steps over an array. It calls element at each element, which has to step over it; a nil element steps over all.
func (s *scanner) array(element func() bool) bool {
	if !s.enter('[') {
		return false
	}
	if s.leave(']') {
		return true
	}
	for {
		ok := false
		if element == nil {
			ok = s.skip()
		} else {
			ok = element()
		}
		if !ok || !s.accept(',') {
			return ok && s.leave(']')
		}
	}
}

func (s *scanner) enter(bracket byte) bool {
	s.depth++
	return s.depth <= maxDepth && s.accept(bracket)
}

func (s *scanner) leave(bracket byte) bool {
	if !s.accept(bracket) {
		return false
	}
	s.depth--
	return true
}

// scalar steps over a string, a number, true, false or null and returns its text.
func (s *scanner) scalar() ([]byte, bool) {
	c := s.peek()
	start, ok := s.pos, false
	switch {
	case c == '"':
		_, ok = s.str()
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

func (s *scanner) literal(word string) bool {
	end := s.pos + len(word)
	if end > len(s.doc) || string(s.doc[s.pos:end]) != word {
		return false
	}
	s.pos = end
	return true
}

// number steps over -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, unless that is more than a float64 holds: it would spoil a
// list, or a Table, for every client in Go.
func (s *scanner) number() bool {
	start := s.pos
	if !s.numeral() {
		return false
	}
	text := s.doc[start:s.pos]
	if len(text) > maxDigits || bytes.ContainsAny(text, "eE") {
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			s.vast = text
		}
	}
	return s.vast == nil
}

// maxDigits is how long a number without an exponent may be to be one that a float64 holds, whatever its digits.
const maxDigits = 308

func (s *scanner) numeral() bool {
	s.any('-', '-')
	if !s.any('0', '0') && !s.digits() {
		return false
	}
	if s.any('.', '.') && !s.digits() {
		return false
	}
	if s.any('e', 'E') {
		s.any('+', '-')
		return s.digits()
	}
	return true
}

func (s *scanner) any(a, b byte) bool {
	if s.pos < len(s.doc) && (s.doc[s.pos] == a || s.doc[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.doc) && isDigit(s.doc[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str steps over a string, whose opening quote must come next, and returns the text between the quotes.
func (s *scanner) str() ([]byte, bool) {
	start := s.pos + 1
	for i := start; i < len(s.doc); {
		c := s.doc[i]
		if plain[c] {
			i++
			continue
		}
		s.pos = i
		switch {
		case c == '"':
			s.pos++
			return s.doc[start:i], true
		case c == '\\' && s.escape(), c >= utf8.RuneSelf && s.rune():
			i = s.pos
		default:
			return nil, false
		}
	}
	return nil, false
}

// plain marks the bytes that stand for themselves in a string: ASCII but for control characters, quote and backslash.
var plain = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// rune steps over a character that is not ASCII.
func (s *scanner) rune() bool {
	r, size := utf8.DecodeRune(s.doc[s.pos:])
	s.loose = s.loose || r == '\u2028' || r == '\u2029'
	s.pos += size
	return r != utf8.RuneError || size > 1
}

// escape steps over a backslash and what it escapes.
func (s *scanner) escape() bool {
	if s.pos+1 >= len(s.doc) {
		return false
	}
	switch s.doc[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
		s.pos += 2
		for end := s.pos + 4; s.pos < end; s.pos++ {
			if s.pos >= len(s.doc) || !isHex(s.doc[s.pos]) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// is reports whether raw, the text between the quotes of a string, means want.
func is(raw []byte, want string) bool {
	if string(raw) == want {
		return true
	}
	return escaped(raw) && unquote(raw) == want
}

func escaped(raw []byte) bool { return bytes.IndexByte(raw, '\\') >= 0 }

// shared is unquote for a text that does not change: where nothing is escaped, the string is in the same memory.
func shared(raw []byte) string {
	if escaped(raw) {
		return unquote(raw)
	}
	return unsafe.String(unsafe.SliceData(raw), len(raw))
}

// unquote returns the string whose text between the quotes, already scanned, is raw.
func unquote(raw []byte) string {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return string(raw)
	}
	text := append(make([]byte, 0, len(raw)), raw[:i]...)
	for raw = raw[i:]; len(raw) > 0; raw = raw[i:] {
		meant := escapes[raw[1]]
		if meant == 0 {
			return unquoteAny(raw, text)
		}
		text = append(text, meant)
		if raw = raw[2:]; len(raw) == 0 {
			break
		}
		if i = bytes.IndexByte(raw, '\\'); i < 0 {
			i = len(raw)
		}
		text = append(text, raw[:i]...)
	}
	return string(text)
}

// escapes are the bytes that a letter behind a backslash means; zero: \u, or nothing.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoteAny leaves the rest of a string, and surrogates, to encoding/json.
func unquoteAny(raw, before []byte) string {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		text = string(raw) // not reached: the scanner accepts only what encoding/json does
	}
	return string(before) + text
}
