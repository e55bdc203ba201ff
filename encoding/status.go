package encoding

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppendStatus appends a Status as the body of an answer, with a newline at its end. Its kind and apiVersion are set here,
// whatever status has; status is not modified.
func AppendStatus(dst []byte, status *metav1.Status) []byte {
	return append(appendStatus(dst, status), '\n')
}

func appendStatus(dst []byte, status *metav1.Status) []byte {
	typed := *status
	typed.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := marshalJSON(&typed)
	if err != nil {
		panic("encoding: a Status holds nothing that JSON cannot say: " + err.Error())
	}
	return append(dst, text...)
}

// Indent returns a JSON document for people to read, two spaces a level. A newline at the end of doc is kept.
func Indent(doc []byte) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(len(doc) * 2)
	if err := json.Indent(&buffer, doc, "", "  "); err != nil {
		return nil, &DecodeError{Reason: "not JSON", Err: err}
	}
	return buffer.Bytes(), nil
}
