package response

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
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
)

// Responder writes answers. It counts those that refuse a request.
type Responder struct {
	logger      *slog.Logger
	Refused     *prometheus.CounterVec // requests, by reason
	Compressors *Compressors
}

func NewResponder(logger *slog.Logger) *Responder {
	return &Responder{logger: logger, Refused: newRefusals(), Compressors: NewCompressors()}
}

// Error answers with an error. Errors before the first byte of an answer come here; later ones are frames of the stream.
func (a *Responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	a.Count(err)
	if code := statusFor(r, err).Code; code >= http.StatusInternalServerError {
		a.logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "code", code, "error", err)
	}
	WriteError(w, r, err)
}

// statusFor says what is wrong in the words of the API that a URL is of.
func statusFor(r *http.Request, err error) *metav1.Status {
	if request.IsKeysAPI(r.URL.Path) {
		return status.OfKeys(err)
	}
	return status.Of(err)
}

// WriteError writes an error with its HTTP code: as a Status object or, in the keys API, as a problem (RFC 9457).
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusFor(r, err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if errors.As(err, new(*claim.ReadOnlyError)) {
		w.Header().Set("Allow", "GET, HEAD")
	}
	if request.IsKeysAPI(r.URL.Path) {
		writeProblem(w, r, status, err)
		return
	}
	WriteJSON(w, r, int(status.Code), encoding.AppendStatus(nil, status))
}

// NotFound is the answer to a URL that leads nowhere; client-go knows this text.
func NotFound(w http.ResponseWriter, r *http.Request) {
	if request.IsKeysAPI(r.URL.Path) {
		WriteError(w, r, status.ErrNoKeysPath)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func MethodNotAllowed(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	WriteError(w, r, &apierrors.StatusError{ErrStatus: *status.New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("the method %s is not allowed on this URL: %s", r.Method, allowed))})
}

func Forbidden(w http.ResponseWriter, r *http.Request, message string) {
	WriteError(w, r, &apierrors.StatusError{ErrStatus: *status.New(http.StatusForbidden, metav1.StatusReasonForbidden, message)})
}
