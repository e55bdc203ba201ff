package status

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrTooManyWatches refuses a watch to who has as many as one may have.
var ErrTooManyWatches = &apierrors.StatusError{ErrStatus: *Retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many watches of the same user are open", 5)}

// ErrDraining is the cause by which a stream ends when the server shuts down.
var ErrDraining = errors.New("the gateway is shutting down")

var ErrTooManyRanges = &apierrors.StatusError{ErrStatus: *Retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many different prefixes and keys are watched at the same time: watch a prefix that holds several of them", 5)}
