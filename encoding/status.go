package encoding

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
)

// AppendStatus appends a Status as the body of a response, with a newline at its end. It sets kind and apiVersion of a copy of status.
func AppendStatus(dst []byte, status *metav1.Status) []byte {
	return append(appendStatus(dst, status), '\n')
}

func appendStatus(dst []byte, status *metav1.Status) []byte {
	typed := *status
	typed.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := marshalJSON(&typed)
	if err != nil {
		panic("encoding: a Status is always valid JSON: " + err.Error())
	}
	return append(dst, text...)
}

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
