package keys

import (
	"errors"
	"testing"
)

// TestMemoryOfLargeResponsesIsLimited checks that a response above the budget is refused, that small responses always fit, and that all
// memory is released.
func TestMemoryOfLargeResponsesIsLimited(t *testing.T) {
	budget := &memoryBudget{most: maxAnswersMemory}
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

// TestMemoryShares checks that a small memory limit makes the budgets smaller, and a large one or none leaves them as they are.
func TestMemoryShares(t *testing.T) {
	for limit, want := range map[int64]int64{0: maxAnswersMemory, 1 << 40: maxAnswersMemory, 1 << 30: maxAnswersMemory, 256 << 20: 32 << 20} {
		if got := memoryShare(limit, answersShare, maxAnswersMemory); got != want {
			t.Errorf("a limit of %d MiB: %d MiB for answers, want %d", limit>>20, got>>20, want>>20)
		}
	}
	if page := (&memoryBudget{most: 8 << 20}).page(); page != 4<<20 {
		t.Errorf("an answer has up to %d bytes of a budget of 8 MiB", page)
	}
}
