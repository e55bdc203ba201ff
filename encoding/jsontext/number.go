package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxDigits is the length up to which every number without an exponent fits into a float64.
const maxDigits = 308

// number steps over -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?. It refuses a number that exceeds float64, because a client in
// Go could not decode a list or a Table with it.
func (s *Scanner) number() bool {
	start := s.pos
	if !s.numeral() {
		return false
	}
	text := s.doc[start:s.pos]
	if len(text) > maxDigits || bytes.ContainsAny(text, "eE") {
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			s.huge = text
		}
	}
	return s.huge == nil
}

func (s *Scanner) numeral() bool {
	s.either('-', '-')
	if !s.either('0', '0') && !s.digits() {
		return false
	}
	if s.either('.', '.') && !s.digits() {
		return false
	}
	if s.either('e', 'E') {
		s.either('+', '-')
		return s.digits()
	}
	return true
}

func (s *Scanner) either(a, b byte) bool {
	if s.pos < len(s.doc) && (s.doc[s.pos] == a || s.doc[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.doc) && isDigit(s.doc[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// decodeNumber returns a number as int64 if it is one, else as float64, or as json.Number if float64 would change it.
func decodeNumber(raw []byte) any {
	if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return i
	}
	text := string(raw)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || parseDecimal(strconv.FormatFloat(f, 'e', -1, 64)) != parseDecimal(text) {
		return json.Number(text)
	}
	if f == 0 {
		return 0.0 // not -0: that would be stored as -0 and decoded as the integer 0
	}
	return f
}

// decimal is a JSON number as ±0.DIGITS × 10^exponent without a zero at either end of digits, so that equal numbers are equal
// decimals. Zero is the zero decimal.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal parses a valid JSON number or the output of FormatFloat. An exponent that exceeds int makes a decimal that equals
// no float.
func parseDecimal(text string) decimal {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, power := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent := len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	if power != "" {
		shift, err := strconv.Atoi(power)
		if err != nil {
			return decimal{negative: negative, digits: text}
		}
		exponent += shift
	}
	return decimal{negative: negative, digits: digits, exponent: exponent}
}
