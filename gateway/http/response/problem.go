package response

import (
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/gateway/keys/keyrange"
)

// writeProblem writes an error as a problem document (RFC 9457).
func writeProblem(w http.ResponseWriter, r *http.Request, status *metav1.Status, err error) {
	p := NewBody(w, r, int(status.Code), nil)
	w.Header().Set("Content-Type", "application/problem+json")
	var open []string
	if denied := new(keyrange.DeniedError); errors.As(err, &denied) {
		open = denied.Open
	}
	p.Bytes = encoding.AppendProblem(p.Bytes, int(status.Code), string(status.Reason), status.Message, open...)
	p.Finish()
}
