package encoding

import (
	"encoding/json"
	"strconv"
	"strings"
)

// number returns n as int64, else as float64, else, when both would be another number, as it is.
func number(n json.Number) any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return n
	}
	if parseDecimal(strconv.FormatFloat(f, 'e', -1, 64)) != parseDecimal(string(n)) {
		return n
	}
	if f == 0 {
		return 0.0 // not -0, which would be stored as -0 and come back as the integer 0
	}
	return f
}

// decimal is a JSON number as ±0.DIGITS × 10^exponent with no zero at either end of digits: equal numbers are equal
// decimals. Zero is the zero decimal.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal takes a valid JSON number, or what FormatFloat prints. An exponent that is no int makes a decimal that is equal
// to no float.
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
