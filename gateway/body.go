package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxBody is the limit of kube-apiserver.
	maxBody = 3 << 20
	// maxTrusted is how much room is made for a body before it comes.
	maxTrusted = 64 << 10
	// bodyTimeout is how long a client may take to send it.
	bodyTimeout = 60 * time.Second
	// maxDiscard is how much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
	maxDiscard = 32 << 20
)

// readBody reads the body of a write.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"a compressed body is not accepted: send it without Content-Encoding")}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a transport without deadlines is a test's
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), maxTrusted)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, badRequest("the body could not be read: %v", errors.Unwrap(err))
	}
	if body.Len() > maxBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxDiscard))
		return nil, apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	}
	return body.Bytes(), nil
}
