package storage

import (
	"context"
	"testing"
)

// The first attempt has the deadline of its caller; the others share one.
func TestAttemptsAreBoundedTogether(t *testing.T) {
	var limited []context.Context
	tried := 0
	for ctx := range attempts(t.Context()) {
		if _, limit := ctx.Deadline(); limit != (tried > 0) {
			t.Errorf("attempt %d: with a deadline: %v", tried, limit)
		}
		if tried++; tried > 1 {
			limited = append(limited, ctx)
		}
	}
	if tried != maxAttempts {
		t.Errorf("%d attempts, want %d", tried, maxAttempts)
	}
	for _, ctx := range limited {
		if ctx != limited[0] || ctx.Err() == nil {
			t.Errorf("an attempt has its own deadline, or another one follows the last")
		}
	}
}
