package keys

import (
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/http/status"
)

const (
	// maxAnswersMemory is how many bytes of values all answers to reads may hold at the same time. An answer is in memory as a whole
	// until its client has taken it, or is disconnected because it stopped to read.
	maxAnswersMemory = 128 << 20
	// uncountedAnswer is the size up to which an answer is not counted.
	uncountedAnswer = 256 << 10
)

var errAnswersMemory = status.RetryableError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"the gateway sends too many large responses at the same time: ask again, or for less with limit= or keysOnly=1", 1)

// memoryBudget limits the memory of all answers in flight.
type memoryBudget struct{ held atomic.Int64 }

// reservation is the part of a budget that one answer holds.
type reservation struct {
	budget *memoryBudget
	size   int64 // of the answer
	held   int64 // of the budget
}

// grow adds bytes to the answer. It fails when all answers together are too large.
func (r *reservation) grow(n int) error {
	r.size += int64(n)
	if r.size <= uncountedAnswer {
		return nil
	}
	more := r.size - r.held
	r.held = r.size
	if r.budget.held.Add(more) > maxAnswersMemory {
		return errAnswersMemory
	}
	return nil
}

// release returns the memory to the budget, when the answer has been sent or has failed.
func (r *reservation) release() { r.budget.held.Add(-r.held) }
