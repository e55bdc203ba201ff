package status

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/watchcache"
)

// ErrNoKeysPath answers a path below /v1 that has no handler.
var ErrNoKeysPath = &apierrors.StatusError{ErrStatus: *New(http.StatusNotFound, metav1.StatusReasonNotFound,
	"there is nothing here: the keys API is at /v1/keys and /v1/txn, and described at /v1/openapi.json")}

// OfKeys is Of for the keys API, whose messages speak of revisions and keys instead of lists and objects.
func OfKeys(err error) *metav1.Status {
	var (
		denied    *keyrange.DeniedError
		compacted *etcdstore.CompactedError
		expired   *watchcache.ExpiredError
		reverted  *watchcache.RevertedError
		future    *etcdstore.FutureError
		tooLarge  *watchcache.TooLargeError
		conflict  *etcdstore.ConflictError
		before    *timeline.BeforeError
	)
	switch {
	case errors.As(err, &before):
		return New(http.StatusGone, metav1.StatusReasonExpired, before.Error())
	case errors.As(err, &denied):
		return New(http.StatusForbidden, metav1.StatusReasonForbidden, denied.Error())
	case errors.As(err, &compacted):
		return compactedRevision(compacted.Requested, compacted.Compacted)
	case errors.As(err, &expired):
		return compactedRevision(expired.Requested, expired.Oldest)
	case errors.As(err, &reverted):
		return New(http.StatusGone, metav1.StatusReasonExpired, fmt.Sprintf(
			"revision %d is of another history than etcd's, which is at %d now, as after a restore: read again without since", reverted.Requested, reverted.Current))
	case errors.As(err, &future):
		return futureRevision(future.Requested, future.Current)
	case errors.As(err, &tooLarge):
		return futureRevision(tooLarge.Requested, tooLarge.Current)
	case errors.As(err, &conflict):
		return preconditionFailed(conflict.KV.Modified)
	case errors.Is(err, etcdstore.ErrTooLarge):
		return New(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			"the value is larger than etcd accepts in one request (its --max-request-bytes, 1.5 MiB unless changed)")
	case errors.Is(err, etcdstore.ErrInvalid):
		return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	return Of(err)
}

func compactedRevision(requested, oldest etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d has been compacted by etcd", requested)
	if oldest > 0 {
		text += fmt.Sprintf(", which holds %d and later", oldest)
	}
	return New(http.StatusGone, metav1.StatusReasonExpired, text+": read the state again, without since or at, and go on from its revision")
}

// preconditionFailed answers a write whose If-Match or If-None-Match does not hold. Zero: the key does not exist.
func preconditionFailed(current etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("the key is at revision %d, which is not what If-Match or If-None-Match demands: read it and try again", current)
	if current == 0 {
		text = "there is no such key, and If-Match demands one: If-None-Match: * makes it"
	}
	return New(http.StatusPreconditionFailed, "PreconditionFailed", text)
}

func futureRevision(requested, current etcdstore.Revision) *metav1.Status {
	text := fmt.Sprintf("revision %d is not reached yet", requested)
	if current > 0 {
		text += fmt.Sprintf(", the newest is %d", current)
	}
	return Retryable(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, text+": try again", 1)
}
