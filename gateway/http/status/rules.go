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
	"revtail/gateway/access/cputime"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/claim"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/filter"
)

// Reasons that Kubernetes does not have.
const (
	reasonUnknownOutcome = metav1.StatusReason("OutcomeUnknown")
	reasonStorageFull    = metav1.StatusReason("StorageFull")
)

// rules are the rules of both APIs. The first one that matches is used.
var rules = []rule{
	spoken[*claim.ReadOnlyError](http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed),
	typed(func(err *apierrors.StatusError) *metav1.Status { return err.ErrStatus.DeepCopy() }),
	spoken[*watchcache.ExpiredError](http.StatusGone, metav1.StatusReasonExpired),
	spoken[*watchcache.RevertedError](http.StatusGone, metav1.StatusReasonExpired),
	spoken[*watchcache.UnreadableEventError](http.StatusGone, metav1.StatusReasonExpired),
	spoken[*watchcache.SlowReaderError](http.StatusGone, metav1.StatusReasonExpired),
	spoken[*etcdstore.UnreadableError](http.StatusInternalServerError, metav1.StatusReasonInternalError),
	spoken[*resource.ConversionError](http.StatusInternalServerError, ""),
	typed(func(err *etcdstore.EncryptionError) *metav1.Status {
		return retryable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error(), 5)
	}),
	typed(func(*etcdstore.CompactedError) *metav1.Status {
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")
	}),
	typed(func(err *watchcache.TooLargeError) *metav1.Status { return tooLarge(err.Requested, err.Current) }),
	typed(func(err *etcdstore.FutureError) *metav1.Status { return tooLarge(err.Requested, err.Current) }),
	typed(func(err *watchcache.NotReadyError) *metav1.Status {
		return retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "storage is (re)initializing: "+err.Error(), max(1, int32(math.Ceil(err.RetryAfter.Seconds()))))
	}),
	typed(func(err *cputime.OverloadError) *metav1.Status {
		return retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, err.Error(), max(1, int32(err.Wait.Seconds())))
	}),
	typed(func(err *flowcontrol.RejectedError) *metav1.Status {
		return retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, err.Error(), int32(math.Ceil(err.RetryAfter.Seconds())))
	}),
	spoken[*timeline.BeforeError](http.StatusGone, metav1.StatusReasonExpired),
	spoken[*filter.CostError](http.StatusBadRequest, metav1.StatusReasonBadRequest),
	spoken[*filter.SyntaxError](http.StatusBadRequest, metav1.StatusReasonBadRequest),
	typed(func(err *codec.UnsupportedMediaTypeError) *metav1.Status {
		return newStatus(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: "+strings.Join(err.Accepted, ", "))
	}),
	fixed(etcdstore.ErrTooLarge, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, 0,
		"the object is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)"),
	typed(func(err *etcdstore.NoRoomError) *metav1.Status {
		return newStatus(http.StatusInsufficientStorage, reasonStorageFull, "nothing can be written until the disk of etcd has room: "+err.Reason)
	}),
	fixed(etcdstore.ErrStorageFull, http.StatusInsufficientStorage, reasonStorageFull, 0,
		"etcd is out of space; the write may have been done: compact and defragment etcd, then disarm its alarm"),
	fixed(etcdstore.ErrUnknownOutcome, http.StatusGatewayTimeout, reasonUnknownOutcome, 0,
		"etcd did not answer: the write may have been done or not, read the object to find out"),
	fixed(watchcache.ErrStopped, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1, ErrDraining.Error()),
	fixed(ErrDraining, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1, ErrDraining.Error()),
	fixed(etcdstore.ErrUnavailable, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 1, etcdUnavailable),
	fixed(etcdstore.ErrClosed, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 1, etcdUnavailable),
	fixed(etcdstore.ErrDenied, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 5,
		"etcd refuses the gateway's credentials, or its role lacks a permission: see --etcd-user and --etcd-cert"),
	fixed(context.DeadlineExceeded, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 1, "the request did not complete within its time"),
	fixed(context.Canceled, 499, metav1.StatusReasonTimeout, 0, "the client went away"),
}

// keyRules are the rules that the keys API has before those of both: for errors of its own, and for other messages.
var keyRules = []rule{
	spoken[*keyrange.DeniedError](http.StatusForbidden, metav1.StatusReasonForbidden),
	typed(func(err *etcdstore.CompactedError) *metav1.Status { return compacted(err.Requested, err.Compacted) }),
	typed(func(err *watchcache.ExpiredError) *metav1.Status { return compacted(err.Requested, err.Oldest) }),
	typed(func(err *watchcache.RevertedError) *metav1.Status {
		now := ""
		if err.Current > 0 {
			now = fmt.Sprintf(", which is at %d now", err.Current)
		}
		return newStatus(http.StatusGone, metav1.StatusReasonExpired, fmt.Sprintf(
			"revision %d is of another history than etcd's%s, as after a restore: read again without since and at", err.Requested, now))
	}),
	typed(func(err *etcdstore.FutureError) *metav1.Status { return future(err.Requested, err.Current) }),
	typed(func(err *watchcache.TooLargeError) *metav1.Status { return future(err.Requested, err.Current) }),
	typed(func(err *etcdstore.ConflictError) *metav1.Status { return preconditionFailed(err.KV.Modified) }),
	fixed(etcdstore.ErrTooLarge, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, 0,
		"the value is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)"),
	func(err error) *metav1.Status {
		if errors.Is(err, etcdstore.ErrInvalid) {
			return newStatus(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		}
		return nil
	},
}

const etcdUnavailable = "etcd cannot be reached or has no leader"

// tooLarge is the Status of a revision that etcd has not reached. client-go recognizes it by its cause.
func tooLarge(requested, current etcdstore.Revision) *metav1.Status {
	status := retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", requested, current), 1)
	status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return status
}

func future(requested, current etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d is not reached yet", requested)
	if current > 0 {
		text += fmt.Sprintf(", the newest is %d", current)
	}
	return retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, text+": try again", 1)
}

func compacted(requested, oldest etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d has been compacted by etcd", requested)
	if oldest > 0 {
		text += fmt.Sprintf(", which holds %d and later", oldest)
	}
	return newStatus(http.StatusGone, metav1.StatusReasonExpired, text+": read the state again, without since or at, and go on from its revision")
}

// preconditionFailed is the Status of a write whose If-Match or If-None-Match does not hold. Zero: the key does not exist.
func preconditionFailed(current etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("the key is at revision %d, which is not what If-Match or If-None-Match demands: read it and try again", current)
	if current == 0 {
		text = "there is no such key, and If-Match demands one: If-None-Match: * makes it"
	}
	return newStatus(http.StatusPreconditionFailed, "PreconditionFailed", text)
}
