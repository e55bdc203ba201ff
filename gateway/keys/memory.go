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
	// answersShare, rangeShare and rangesShare are which part of a memory limit of the process the answers to reads may hold, the cache of one
	// range, and those of all ranges: an eighth, a quarter, a half.
	answersShare = 8
	rangeShare   = 4
	rangesShare  = 2
	// uncountedAnswer is the size up to which an answer is not counted.
	uncountedAnswer = 256 << 10
)

var errAnswersMemory = status.RetryableError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
	"the gateway sends too many large responses at the same time: ask again, or for less with limit= or keysOnly=1", 1)

// memoryShare returns a part of the memory limit of the process, but at most so many bytes. A limit of zero is none.
func memoryShare(limit, part, most int64) int64 {
	if limit == 0 {
		return most
	}
	return min(limit/part, most)
}

// memoryBudget limits the memory of all answers in flight.
type memoryBudget struct {
	most int64
	held atomic.Int64
}

// page is about how many bytes of values an answer has at most. The keys that follow are in the next page.
func (b *memoryBudget) page() int64 { return min(maxKeysAnswer, b.most/2) }

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
	if r.budget.held.Add(more) > r.budget.most {
		return errAnswersMemory
	}
	return nil
}

// release returns the memory to the budget, when the answer has been sent or has failed.
func (r *reservation) release() { r.budget.held.Add(-r.held) }
