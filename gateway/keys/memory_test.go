package keys

import (
	"errors"
	"testing"
)

// TestMemoryOfLargeResponsesIsLimited checks that a response above the budget is refused, that small responses always fit, and that all
// memory is released.
func TestMemoryOfLargeResponsesIsLimited(t *testing.T) {
	budget := new(memoryBudget)
	large, next, small := reservation{budget: budget}, reservation{budget: budget}, reservation{budget: budget}
	for range 2 {
		if err := large.grow(maxAnswersMemory / 2); err != nil {
			t.Fatalf("within the budget: %v", err)
		}
	}
	if err := next.grow(uncountedAnswer + 1); !errors.Is(err, errAnswersMemory) {
		t.Errorf("above the budget: %v", err)
	}
	if err := small.grow(uncountedAnswer); err != nil {
		t.Errorf("a small response: %v", err)
	}
	large.release()
	next.release()
	small.release()
	if held := budget.held.Load(); held != 0 {
		t.Errorf("afterwards %d bytes are held", held)
	}
	if err := (&reservation{budget: budget}).grow(maxAnswersMemory); err != nil {
		t.Errorf("again within the budget: %v", err)
	}
}
