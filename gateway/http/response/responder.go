package response

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/encoding"
	"revtail/gateway/claim"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
)

// Responder answers requests with errors, and counts refusals.
type Responder struct {
	logger      *slog.Logger
	Refused     *prometheus.CounterVec // requests, by the reasons of package status
	Compressors *Compressors
}

// NewResponder returns a Responder. Every reason has a counter from the start, because a rate needs a value before the first refusal.
func NewResponder(logger *slog.Logger) *Responder {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "revtail_requests_refused_total", Help: "Requests that were refused, by reason.",
	}, []string{"reason"})
	for _, reason := range status.Refusals {
		refused.WithLabelValues(reason)
	}
	return &Responder{logger: logger, Refused: refused, Compressors: NewCompressors()}
}

// Count counts an error that a request is answered with, if it refuses the request.
func (a *Responder) Count(err error) {
	if reason := status.Refusal(err); reason != "" {
		a.Refused.WithLabelValues(reason).Inc()
	}
}

// Error answers a request with an error, counts it, and logs an error of the server. It needs an answer of which nothing is written;
// later errors of a stream are its last frame.
func (a *Responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	a.Count(err)
	if code := statusFor(r, err).Code; code >= http.StatusInternalServerError {
		a.logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "code", code, "error", err)
	}
	WriteError(w, r, err)
}

// statusFor returns the Status of an error in the API that the path belongs to.
func statusFor(r *http.Request, err error) *metav1.Status {
	if request.IsKeysAPI(r.URL.Path) {
		return status.OfKeys(err)
	}
	return status.Of(err)
}

// WriteError answers a request with an error: a Status object or, in the keys API, a problem (RFC 9457).
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
	WriteStatus(w, r, int(status.Code), status)
}

// NotFound answers a request for an unknown path. client-go recognizes the text.
func NotFound(w http.ResponseWriter, r *http.Request) {
	if request.IsKeysAPI(r.URL.Path) {
		WriteError(w, r, status.ErrNoKeysPath)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// MethodNotAllowed answers a request whose method the URL does not have. allowed is the Allow header.
func MethodNotAllowed(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	WriteError(w, r, status.Error(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("the method %s is not allowed on this URL: %s", r.Method, allowed)))
}

// Forbidden answers a request with 403.
func Forbidden(w http.ResponseWriter, r *http.Request, message string) {
	WriteError(w, r, status.Error(http.StatusForbidden, metav1.StatusReasonForbidden, message))
}

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

// Response headers of states at a revision or a time.
const (
	// RevisionHeader is the revision of the state in a response, also of one without a body.
	RevisionHeader = "Revtail-Revision"
	// TimeHeader is the time of that state, if the request asks for a time.
	TimeHeader = "Revtail-Time"
)

// SetTime sets TimeHeader.
func SetTime(w http.ResponseWriter, at time.Time) {
	w.Header().Set(TimeHeader, at.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
}

// WriteJSON answers a request with a JSON document, in the format that the client prefers.
func WriteJSON(w http.ResponseWriter, r *http.Request, code int, document []byte) {
	WriteDocument(NewBody(w, r, code, nil), FormatOf(r), document)
}

// WriteDocument writes a document and finishes the body.
func WriteDocument(p *Body, f Format, document []byte) {
	p.writer.Header().Set("Content-Type", f.ContentType())
	p.Bytes = f.appendDocument(p.Bytes, document)
	p.Finish()
}

// wantsPretty reports whether a person reads the response: by pretty=, or by the User-Agent.
func wantsPretty(r *http.Request) bool {
	if pretty, ok := readPretty(r); ok {
		return pretty
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// readPretty returns the value of pretty=, if it is given.
func readPretty(r *http.Request) (pretty, given bool) {
	values, given := request.Query(r)["pretty"]
	return given && request.ParseBool(values[0]), given
}

// Warn adds a Warning header, as Kubernetes does (RFC 7234, section 5.5). It drops control characters of the text.
func Warn(w http.ResponseWriter, text string) {
	text = strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f {
			return -1
		}
		return c
	}, text)
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
		w.Header().Add("Warning", header)
	}
}

// LogPanic logs the reason of a panic and the stack of the goroutine. about has further fields of the log line.
func LogPanic(logger *slog.Logger, reason any, about ...any) {
	logger.Error("panic while answering a request", append(about, "panic", reason, "stack", string(debug.Stack()))...)
}
