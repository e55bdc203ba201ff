package encoding

import (
	"strconv"

	"revtail/encoding/jsontext"
)

// AppendProblem appends an error as application/problem+json (RFC 9457): reason is for programs, detail for people. open is an
// extension member (section 3.2) with the values that are allowed instead of the requested one.
func AppendProblem(dst []byte, status int, reason, detail string, open ...string) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":"about:blank","title":`...), reason)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(status), 10)
	dst = jsontext.AppendString(append(dst, `,"detail":`...), detail)
	for i, text := range open {
		separator := `,`
		if i == 0 {
			separator = `,"open":[`
		}
		dst = jsontext.AppendString(append(dst, separator...), text)
	}
	if len(open) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...)
}

// AppendKeyError appends the line of the error that ends a watch in the keys API.
func AppendKeyError(dst []byte, status int, reason, detail string) []byte {
	dst = append(dst, `{"type":"ERROR","error":`...)
	dst = AppendProblem(dst, status, reason, detail)
	return append(dst[:len(dst)-1], "}\n"...)
}
