package gateway

import (
	"errors"
	"testing"
)

// TestLargeAnswersAreBoundedTogether: what is too much is refused alone; small answers always have room, and all of it is given back.
func TestLargeAnswersAreBoundedTogether(t *testing.T) {
	budget := new(keysBudget)
	large, next, small := share{budget: budget}, share{budget: budget}, share{budget: budget}
	for range 2 {
		if err := large.grow(maxKeysAnswers / 2); err != nil {
			t.Fatalf("within the budget: %v", err)
		}
	}
	if err := next.grow(smallKeysAnswer + 1); !errors.Is(err, errTooManyAnswers) {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := small.grow(smallKeysAnswer); err != nil {
		t.Errorf("a small answer: %v", err)
	}
	large.release()
	next.release()
	small.release()
	if held := budget.held.Load(); held != 0 {
		t.Errorf("afterwards %d bytes are held", held)
	}
	if err := (&share{budget: budget}).grow(maxKeysAnswers); err != nil {
		t.Errorf("again within the budget: %v", err)
	}
}
