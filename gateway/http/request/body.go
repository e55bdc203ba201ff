package request

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/http/status"
)

const (
	// MaxBody is the limit of kube-apiserver.
	MaxBody = 3 << 20
	// maxTrusted is how much room is made for a body before it comes.
	maxTrusted = 64 << 10
	// bodyTimeout is how long a client may take to send the largest, and minBodyTimeout how long any.
	bodyTimeout    = 60 * time.Second
	minBodyTimeout = 10 * time.Second
	// MaxDiscard is how much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
	MaxDiscard = 32 << 20
)

// BodyTime is how long a client may take to send a body of a length; less than zero: not known.
func BodyTime(length int64) time.Duration {
	if length < 0 || length > MaxBody {
		return bodyTimeout
	}
	return min(bodyTimeout, minBodyTimeout+time.Duration(length)*time.Second/(64<<10))
}

// ReadBody reads the body of a write.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &apierrors.StatusError{ErrStatus: *status.New(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"a compressed body is not accepted: send it without Content-Encoding")}
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), maxTrusted)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(r.Body, MaxBody+1)); err != nil {
		return nil, status.BadRequest("the body could not be read: %v", errors.Unwrap(err)) // and net/http gives up on the rest as soon
	}
	if body.Len() > MaxBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, MaxDiscard))
		return nil, apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	}
	EndBodyTime(w)
	return body.Bytes(), nil
}

// EndBodyTime ends what middleware.LimitBody has begun, when the body has been read: the rest of the request may take longer.
func EndBodyTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}
