package gateway

import (
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxKeysAnswers is how many bytes of values all answers of the plain dialect may have that are being made, or that clients have
	// not taken yet: each is in memory as a whole, and a client that stops to read keeps it there until it is cut.
	maxKeysAnswers = 128 << 20
	// smallKeysAnswer is what is not worth counting.
	smallKeysAnswer = 256 << 10
)

var errTooManyAnswers = &apierrors.StatusError{ErrStatus: *retryable(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"too many large answers are on their way at the same time: ask again, or for less with limit= or keysOnly=1", 1)}

// keysBudget is what all answers may hold together.
type keysBudget struct{ held atomic.Int64 }

// share is what one answer takes of a budget.
type share struct {
	budget *keysBudget
	size   int64 // of the answer
	held   int64 // of the budget
}

// grow counts more bytes of the answer, and refuses it when that is too much together with all others.
func (s *share) grow(n int) error {
	s.size += int64(n)
	if s.size <= smallKeysAnswer {
		return nil
	}
	more := s.size - s.held
	s.held = s.size
	if s.budget.held.Add(more) > maxKeysAnswers {
		return errTooManyAnswers
	}
	return nil
}

// release gives back what the answer holds, when it has been sent, or refused.
func (s *share) release() { s.budget.held.Add(-s.held) }
