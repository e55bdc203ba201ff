package encoding

import "strconv"

// AppendProblem appends what is wrong as RFC 9457 has it, application/problem+json: reason is for programs, detail for people.
// open, where there is any, is what is open instead of what was asked for: a member of our own (section 3.2).
func AppendProblem(dst []byte, status int, reason, detail string, open ...string) []byte {
	dst = appendString(append(dst, `{"type":"about:blank","title":`...), reason)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(status), 10)
	dst = appendString(append(dst, `,"detail":`...), detail)
	for i, text := range open {
		begin := `,`
		if i == 0 {
			begin = `,"open":[`
		}
		dst = appendString(append(dst, begin...), text)
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
