package gateway

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errTooManyWatches refuses a watch to who has as many as one may have.
var errTooManyWatches = &apierrors.StatusError{ErrStatus: *retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many watches of the same user are open", 5)}

// errDraining is the cause by which a stream ends when the server shuts down.
var errDraining = errors.New("the gateway is shutting down")
