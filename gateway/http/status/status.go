package status

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of returns the Status that answers an error in the resource API. Only this package chooses HTTP codes for errors of other packages.
func Of(err error) *metav1.Status { return first(err, rules) }

// OfKeys is Of for the keys API, whose messages speak of revisions and keys instead of lists and objects.
func OfKeys(err error) *metav1.Status { return first(err, keyRules, rules) }

func first(err error, tables ...[]rule) *metav1.Status {
	for _, table := range tables {
		for _, match := range table {
			if status := match(err); status != nil {
				return status
			}
		}
	}
	return newStatus(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error, see the gateway's log")
}

// rule returns the Status of one kind of error; nil: err is of another kind.
type rule func(err error) *metav1.Status

// typed is the rule of an error type.
func typed[E error](status func(E) *metav1.Status) rule {
	return func(err error) *metav1.Status {
		if found, ok := errors.AsType[E](err); ok {
			return status(found)
		}
		return nil
	}
}

// spoken is the rule of an error type whose text is the message.
func spoken[E error](code int32, reason metav1.StatusReason) rule {
	return typed(func(err E) *metav1.Status { return newStatus(code, reason, err.Error()) })
}

// fixed is the rule of a sentinel error. seconds is after which time to try again; zero: not by itself.
func fixed(sentinel error, code int32, reason metav1.StatusReason, seconds int32, message string) rule {
	return func(err error) *metav1.Status {
		if errors.Is(err, sentinel) {
			return retryable(code, reason, message, seconds)
		}
		return nil
	}
}

// Error returns an error with a Status.
func Error(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: *newStatus(code, reason, message)}
}

// RetryableError is Error for a request that can be repeated after some seconds.
func RetryableError(code int32, reason metav1.StatusReason, message string, seconds int32) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: *retryable(code, reason, message, seconds)}
}

// BadRequest returns an error with the Status of a request that is wrong in itself (400).
func BadRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func newStatus(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Message: message, Reason: reason, Code: code}
}

func retryable(code int32, reason metav1.StatusReason, message string, seconds int32) *metav1.Status {
	status := newStatus(code, reason, message)
	if seconds > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	}
	return status
}
