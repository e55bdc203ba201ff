package encoding

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendString appends text as a JSON string, without the escaping for HTML: < stays <. U+2028 and U+2029 are escaped, since
// some readers of line-by-line streams take them for line ends. What is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
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

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
}
