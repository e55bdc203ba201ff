package status

import (
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrDraining is the cause by which a stream ends when the server shuts down.
var ErrDraining = errors.New("the gateway is shutting down")

// ErrInternal is answered in place of a panic.
var ErrInternal = errors.New("internal error")

// ErrTooManyWatches refuses a watch of a user that has reached the limit of open watches.
var ErrTooManyWatches = RetryableError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many watches of the same user are open", 5)

// ErrTooManyRanges refuses a watch of keys that would need one more cache than there may be.
var ErrTooManyRanges = RetryableError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many different prefixes and keys are watched at the same time: watch a prefix that holds several of them", 5)

// ErrNoKeysPath answers a path below /v1 that has no handler.
var ErrNoKeysPath = Error(http.StatusNotFound, metav1.StatusReasonNotFound,
	"there is nothing here: the keys API is at /v1/keys and /v1/txn, and described at /v1/openapi.json")
