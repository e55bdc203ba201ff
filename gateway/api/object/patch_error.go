package object

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/patch"
	"revtail/gateway/http/status"
)

// PatchError returns the Status of a patch that cannot be applied.
func PatchError(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, patch.ErrTooLarge):
		return TooLarge(err.Error())
	case errors.Is(err, patch.ErrFailed):
		refused := status.Error(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"the server rejected our request due to an error in our request: "+err.Error())
		refused.ErrStatus.Details = &metav1.StatusDetails{}
		return refused
	case errors.Is(err, patch.ErrMalformed):
		return status.BadRequest("invalid JSON patch: %v", err)
	case errors.Is(err, patch.ErrNotObject):
		return status.BadRequest("error decoding patch: %v", err)
	}
	return status.BadRequest("%v", err)
}
