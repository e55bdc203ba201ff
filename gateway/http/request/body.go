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
	// MaxBody is the largest body, in bytes. kube-apiserver has the same limit.
	MaxBody = 3 << 20
	// maxPrealloc limits the memory that is allocated for a body before it arrives.
	maxPrealloc = 64 << 10
	// bodyTimeout is the time that a client has to send the largest body, and minBodyTimeout that for the smallest.
	bodyTimeout    = 60 * time.Second
	minBodyTimeout = 10 * time.Second
	// MaxDiscard is how many bytes of a body that is too large are read and dropped, because many clients read the answer only after
	// they have sent the body.
	MaxDiscard = 32 << 20
)

// BodyTimeout returns the time that a client has to send a body of a length in bytes; negative: unknown.
func BodyTimeout(length int64) time.Duration {
	if length < 0 || length > MaxBody {
		return bodyTimeout
	}
	return min(bodyTimeout, minBodyTimeout+time.Duration(length)*time.Second/(64<<10))
}

// ReadBody reads the body of a write. The error is a Status: 413 for more than MaxBody, 415 for a compressed body, or 400.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, status.Error(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"a compressed body is not accepted: send it without Content-Encoding")
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), maxPrealloc)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(r.Body, MaxBody+1)); err != nil {
		return nil, status.BadRequest("the body could not be read: %v", innermost(err)) // net/http does not read the rest either
	}
	if body.Len() > MaxBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, MaxDiscard))
		return nil, apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	}
	ClearBodyTimeout(w)
	return body.Bytes(), nil
}

// innermost returns the cause of an error without what surrounds it, such as the addresses of a connection.
func innermost(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause
	}
	return err
}

// ClearBodyTimeout removes the read deadline of middleware.LimitBody. It is called when the body has been read.
func ClearBodyTimeout(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}
