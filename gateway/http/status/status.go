package status

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Of turns any error into what a client gets to see. It is the only place that chooses HTTP codes for errors of other
// packages.
func Of(err error) *metav1.Status {
	var (
		status    apierrors.APIStatus
		expired   *watchcache.ExpiredError
		compacted *etcdstore.CompactedError
		reverted  *watchcache.RevertedError
		tooLarge  *watchcache.TooLargeError
		future    *etcdstore.FutureError
		notReady  *watchcache.NotReadyError
		costs     *filter.CostError
		syntax    *filter.SyntaxError
		mediaType *codec.UnsupportedMediaTypeError
		readOnly  *claim.ReadOnlyError
	)
	switch {
	case errors.As(err, &readOnly):
		return New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, readOnly.Error())
	case errors.As(err, &status):
		out := status.Status()
		return &out
	case errors.As(err, &expired):
		return New(http.StatusGone, metav1.StatusReasonExpired, expired.Error())
	case errors.As(err, &reverted):
		return New(http.StatusGone, metav1.StatusReasonExpired, reverted.Error())
	case errors.As(err, &compacted):
		return New(http.StatusGone, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")
	case errors.As(err, &tooLarge):
		return tooLargeStatus(int64(tooLarge.Requested), int64(tooLarge.Current))
	case errors.As(err, &future):
		return tooLargeStatus(int64(future.Requested), int64(future.Current))
	case errors.As(err, &notReady):
		seconds := max(1, int32(math.Ceil(notReady.RetryAfter.Seconds())))
		return Retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "storage is (re)initializing: "+notReady.Error(), seconds)
	case errors.As(err, &costs):
		return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, costs.Error())
	case errors.As(err, &syntax):
		return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, syntax.Error())
	case errors.As(err, &mediaType):
		return New(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, unsupported(mediaType.Accepted))
	}
	return storeStatus(err)
}

// storeStatus translates the refusals of the store.
func storeStatus(err error) *metav1.Status {
	switch {
	case errors.Is(err, etcdstore.ErrTooLarge):
		return New(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			"the object is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)")
	case errors.Is(err, etcdstore.ErrStorageFull):
		return New(http.StatusInsufficientStorage, reasonStorageFull,
			"etcd is out of space; the write may have been done: compact and defragment etcd, then disarm its alarm")
	case errors.Is(err, etcdstore.ErrUnknownOutcome):
		return New(http.StatusGatewayTimeout, reasonUnknownOutcome,
			"etcd did not answer: the write may have been done or not, read the object to find out")
	case errors.Is(err, watchcache.ErrStopped), errors.Is(err, ErrDraining):
		return Retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "the gateway is shutting down", 1)
	case errors.Is(err, etcdstore.ErrUnavailable), errors.Is(err, etcdstore.ErrClosed):
		return Retryable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "etcd cannot be reached or has no leader", 1)
	case errors.Is(err, etcdstore.ErrDenied):
		return Retryable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			"etcd refuses the gateway's credentials, or its role lacks a permission: see --etcd-user and --etcd-cert", 5)
	case errors.Is(err, context.DeadlineExceeded):
		return Retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the request did not complete within its time", 1)
	case errors.Is(err, context.Canceled):
		return New(499, metav1.StatusReasonTimeout, "the client went away")
	}
	return New(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error, see the gateway's log")
}

func New(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Message: message, Reason: reason, Code: code}
}

func Retryable(code int32, reason metav1.StatusReason, message string, seconds int32) *metav1.Status {
	status := New(code, reason, message)
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	return status
}

// tooLargeStatus is what client-go recognizes by its cause.
func tooLargeStatus(requested, current int64) *metav1.Status {
	status := Retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", requested, current), 1)
	status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return status
}

func unsupported(accepted []string) string {
	return "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", ")
}

func BadRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

var ErrInternal = errors.New("internal error")
