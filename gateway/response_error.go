package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/gateway/claim"
)

// responder writes answers. It counts those that refuse a request.
type responder struct {
	logger      *slog.Logger
	refused     *prometheus.CounterVec // requests, by reason
	compressors *compressors
}

func newResponder(logger *slog.Logger) *responder {
	return &responder{logger: logger, refused: newRefusals(), compressors: newCompressors()}
}

// fail answers with an error. Errors before the first byte of an answer come here; later ones are frames of the stream.
func (a *responder) fail(w http.ResponseWriter, r *http.Request, err error) {
	a.refuse(err)
	if code := statusFor(r, err).Code; code >= http.StatusInternalServerError {
		a.logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "code", code, "error", err)
	}
	writeStatus(w, r, err)
}

// statusFor says what is wrong in the words of the API that a URL is of.
func statusFor(r *http.Request, err error) *metav1.Status {
	if isKeysAPI(r.URL.Path) {
		return keysStatus(err)
	}
	return toStatus(err)
}

// writeStatus writes an error with its HTTP code: as a Status object or, in the keys API, as a problem (RFC 9457).
func writeStatus(w http.ResponseWriter, r *http.Request, err error) {
	status := statusFor(r, err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if errors.As(err, new(*claim.ReadOnlyError)) {
		w.Header().Set("Allow", "GET, HEAD")
	}
	if isKeysAPI(r.URL.Path) {
		writeProblem(w, r, status, err)
		return
	}
	respond(w, r, int(status.Code), encoding.AppendStatus(nil, status))
}

// notFound is the answer to a URL that leads nowhere; client-go knows this text.
func notFound(w http.ResponseWriter, r *http.Request) {
	if isKeysAPI(r.URL.Path) {
		writeStatus(w, r, errNoKeysPath)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	writeStatus(w, r, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("the method %s is not allowed on this URL: %s", r.Method, allowed))})
}

func forbid(w http.ResponseWriter, r *http.Request, message string) {
	writeStatus(w, r, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusForbidden, metav1.StatusReasonForbidden, message)})
}
