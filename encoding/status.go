package encoding

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
