package keys

import (
	"errors"
	"testing"
)

// TestLargeAnswersAreBoundedTogether: what is too much is refused alone; small answers always have room, and all of it is given back.
func TestLargeAnswersAreBoundedTogether(t *testing.T) {
	budget := new(memoryBudget)
	large, next, small := reservation{budget: budget}, reservation{budget: budget}, reservation{budget: budget}
	for range 2 {
		if err := large.grow(maxAnswersMemory / 2); err != nil {
			t.Fatalf("within the budget: %v", err)
		}
	}
	if err := next.grow(uncountedAnswer + 1); !errors.Is(err, errAnswersMemory) {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := small.grow(uncountedAnswer); err != nil {
		t.Errorf("a small answer: %v", err)
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
