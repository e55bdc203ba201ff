package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Quoted steps over a string, whose opening quote must come next, and returns the text between the quotes, with its escapes.
func (s *Scanner) Quoted() ([]byte, bool) {
	start := s.pos + 1
	for i := start + plainBytes(s.doc[start:]); i < len(s.doc); i += plainBytes(s.doc[i:]) {
		c := s.doc[i]
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

// plainBytes returns how many bytes at the start of text are plain. It tests sixteen bytes at once while there are so many, and then eight.
func plainBytes(text []byte) int {
	i := 0
	for ; len(text)-i >= 16; i += 16 {
		first, second := special(text[i:]), special(text[i+8:])
		if (first|second)&highest == 0 {
			continue
		}
		if first &= highest; first != 0 {
			return i + bits.TrailingZeros64(first)/8
		}
		return i + 8 + bits.TrailingZeros64(second&highest)/8
	}
	if len(text)-i >= 8 {
		if found := special(text[i:]) & highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(text) && plain[text[i]] {
		i++
	}
	return i
}

const each, highest = 0x0101_0101_0101_0101, 0x8080_8080_8080_8080

// special returns a number whose eight parts stand for the first eight bytes of text, the first byte for the lowest part. The highest bit of a part
// is set if its byte is not plain, because then the byte is not ASCII, or less than the subtrahend of a difference. A borrow spoils only parts
// after one whose bit is set.
func special(text []byte) uint64 {
	x := binary.LittleEndian.Uint64(text)
	return (x - ' '*each) | (x ^ '"'*each - each) | (x ^ '\\'*each - each) | x
}

// plain marks the bytes that need no escape in a string: ASCII without control characters, quote and backslash.
var plain = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// rune steps over a character that is not ASCII.
func (s *Scanner) rune() bool {
	r, size := utf8.DecodeRune(s.doc[s.pos:])
	s.loose = s.loose || r == '\u2028' || r == '\u2029'
	s.pos += size
	return r != utf8.RuneError || size > 1
}

// escape steps over a backslash and the escape after it.
func (s *Scanner) escape() bool {
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

// Equal reports whether raw, the text between the quotes of a string, is want.
func Equal(raw []byte, want string) bool {
	if len(raw) <= len(want) { // an escape is longer than its character
		return string(raw) == want
	}
	return Escaped(raw) && Unquote(raw) == want
}

// Escaped reports whether the text between the quotes of a string contains an escape.
func Escaped(raw []byte) bool { return bytes.IndexByte(raw, '\\') >= 0 }

// UnquoteShared is Unquote for a text that does not change: without escapes, the string shares the memory of raw.
func UnquoteShared(raw []byte) string {
	if Escaped(raw) {
		return Unquote(raw)
	}
	return unsafe.String(unsafe.SliceData(raw), len(raw))
}

// Unquote returns the string of raw, the text between its quotes, which a Scanner must have accepted.
func Unquote(raw []byte) string {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return string(raw)
	}
	text := append(make([]byte, 0, len(raw)), raw[:i]...)
	for raw = raw[i:]; len(raw) > 0; raw = raw[i:] {
		c := escapes[raw[1]]
		if c == 0 {
			return unquoteUnicode(raw, text)
		}
		text = append(text, c)
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

// escapes maps the letter after a backslash to the byte that it stands for; zero: the letter is u.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoteUnicode leaves the rest of a string, from its first \u, to encoding/json, because of surrogates.
func unquoteUnicode(raw, before []byte) string {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		text = string(raw) // unreachable: the scanner accepts what encoding/json accepts
	}
	return string(before) + text
}

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string. It does not escape <, > and &, because the output is no HTML. It escapes U+2028 and
// U+2029, because some readers of line-by-line streams take them for line ends. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	raw := unsafe.Slice(unsafe.StringData(text), len(text)) // is not changed
	done := 0
	for i := plainBytes(raw); i < len(text); i += plainBytes(raw[i:]) {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		dst = append(dst, text[done:i]...)
		dst = appendEscaped(dst, r)
		i += size
		done = i
	}
	dst = append(dst, text[done:]...)
	return append(dst, '"')
}

// shortEscaped are the characters with an escape of two bytes, shortEscapes the second byte of each.
const shortEscaped, shortEscapes = "\"\\\b\f\n\r\t", `"\bfnrt`

func appendEscaped(dst []byte, r rune) []byte {
	if i := strings.IndexRune(shortEscaped, r); i >= 0 {
		return append(dst, '\\', shortEscapes[i])
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
