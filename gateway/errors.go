package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/etcdstore"
	"revtail/gateway/claim"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/filter"
)

// Reasons beyond those of Kubernetes.
const (
	reasonUnknownOutcome = metav1.StatusReason("OutcomeUnknown")
	reasonStorageFull    = metav1.StatusReason("StorageFull")
)

// responder writes answers. It counts those that refuse a request.
type responder struct {
	logger      *slog.Logger
	refused     *prometheus.CounterVec // requests, by reason
	compressors *compressors
}

// fail answers with an error. Errors before the first byte of an answer come here; later ones are frames of the stream.
func (a *responder) fail(w http.ResponseWriter, r *http.Request, err error) {
	a.refuse(err)
	if code := statusFor(r, err).Code; code >= http.StatusInternalServerError {
		a.logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "code", code, "error", err)
	}
	writeStatus(w, r, err)
}

// statusFor says what is wrong in the words of the dialect that a URL is of.
func statusFor(r *http.Request, err error) *metav1.Status {
	if isPlainPath(r.URL.Path) {
		return plainStatus(err)
	}
	return toStatus(err)
}

// writeStatus writes an error with its HTTP code: as a Status object or, in the plain dialect, as a problem (RFC 9457).
func writeStatus(w http.ResponseWriter, r *http.Request, err error) {
	status := statusFor(r, err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if errors.As(err, new(*claim.ReadOnlyError)) {
		w.Header().Set("Allow", "GET, HEAD")
	}
	if isPlainPath(r.URL.Path) {
		writeProblem(w, r, status, err)
		return
	}
	respond(w, r, int(status.Code), encoding.AppendStatus(nil, status))
}

// toStatus turns any error into what a client gets to see. It is the only place that chooses HTTP codes for errors of other
// packages.
func toStatus(err error) *metav1.Status {
	var (
		status    apierrors.APIStatus
		expired   *watchcache.ExpiredError
		compacted *etcdstore.CompactedError
		reverted  *watchcache.RevertedError
		tooLarge  *watchcache.TooLargeError
		future    *etcdstore.FutureError
		notReady  *watchcache.NotReadyError
		costs     *filter.CostError
		mediaType *codec.UnsupportedMediaTypeError
		readOnly  *claim.ReadOnlyError
	)
	switch {
	case errors.As(err, &readOnly):
		return newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, readOnly.Error())
	case errors.As(err, &status):
		out := status.Status()
		return &out
	case errors.As(err, &expired):
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, expired.Error())
	case errors.As(err, &reverted):
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, reverted.Error())
	case errors.As(err, &compacted):
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")
	case errors.As(err, &tooLarge):
		return tooLargeStatus(int64(tooLarge.Requested), int64(tooLarge.Current))
	case errors.As(err, &future):
		return tooLargeStatus(int64(future.Requested), int64(future.Current))
	case errors.As(err, &notReady):
		seconds := max(1, int32(math.Ceil(notReady.RetryAfter.Seconds())))
		return retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "storage is (re)initializing: "+notReady.Error(), seconds)
	case errors.As(err, &costs):
		return newStatus(http.StatusBadRequest, metav1.StatusReasonBadRequest, costs.Error())
	case errors.As(err, &mediaType):
		return newStatus(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, unsupported(mediaType.Accepted))
	}
	return storeStatus(err)
}

// storeStatus translates the refusals of the store.
func storeStatus(err error) *metav1.Status {
	switch {
	case errors.Is(err, etcdstore.ErrTooLarge):
		return newStatus(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			"the object is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)")
	case errors.Is(err, etcdstore.ErrStorageFull):
		return newStatus(http.StatusInsufficientStorage, reasonStorageFull,
			"etcd is out of space; the write may have been done: compact and defragment etcd, then disarm its alarm")
	case errors.Is(err, etcdstore.ErrUnknownOutcome):
		return newStatus(http.StatusGatewayTimeout, reasonUnknownOutcome,
			"etcd did not answer: the write may have been done or not, read the object to find out")
	case errors.Is(err, watchcache.ErrStopped), errors.Is(err, errDraining):
		return retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "the gateway is shutting down", 1)
	case errors.Is(err, etcdstore.ErrUnavailable), errors.Is(err, etcdstore.ErrClosed):
		return retryable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "etcd cannot be reached or has no leader", 1)
	case errors.Is(err, etcdstore.ErrDenied):
		return retryable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			"etcd refuses the gateway's credentials, or its role lacks a permission: see --etcd-user and --etcd-cert", 5)
	case errors.Is(err, context.DeadlineExceeded):
		return retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the request did not complete within its time", 1)
	case errors.Is(err, context.Canceled):
		return newStatus(499, metav1.StatusReasonTimeout, "the client went away")
	}
	return newStatus(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error, see the gateway's log")
}

func newStatus(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Message: message, Reason: reason, Code: code}
}

func retryable(code int32, reason metav1.StatusReason, message string, seconds int32) *metav1.Status {
	status := newStatus(code, reason, message)
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	return status
}

// tooLargeStatus is what client-go recognizes by its cause.
func tooLargeStatus(requested, current int64) *metav1.Status {
	status := retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", requested, current), 1)
	status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return status
}

func unsupported(accepted []string) string {
	return "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", ")
}

var errInternal = errors.New("internal error")

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// noSubresource is the answer to a subresource that a resource does not have.
func noSubresource(t target) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("%s %q has no subresource %q", t.Resource.QualifiedName(), t.Scope.Name, t.Subresource),
		Details: &metav1.StatusDetails{Name: t.Scope.Name, Group: t.Resource.Group, Kind: t.Resource.Plural},
	}}
}

// notFound is the answer to a URL that leads nowhere; client-go knows this text.
func notFound(w http.ResponseWriter, r *http.Request) {
	if isPlainPath(r.URL.Path) {
		writeStatus(w, r, errNoPlainPath)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// methodNotAllowed names the methods that a URL has (RFC 9110, section 15.5.6).
func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	routes := chi.RouteContext(r.Context()).Routes
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 && allowed[0] == http.MethodGet {
		allowed = slices.Insert(allowed, 1, http.MethodHead)
	}
	refuseMethod(w, r, strings.Join(allowed, ", "))
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	writeStatus(w, r, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("the method %s is not allowed on this URL: %s", r.Method, allowed))})
}
