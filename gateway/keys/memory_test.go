package keys

import (
	"errors"
	"testing"

	"revtail/gateway/access/flowcontrol"
)

// TestPageIsAShare checks that an answer is no larger than a share of the memory for answers, which a small memory limit makes smaller.
func TestPageIsAShare(t *testing.T) {
	for limit, want := range map[int64]int64{0: maxKeysAnswer, 1 << 40: maxKeysAnswer, 1 << 30: maxKeysAnswer, 256 << 20: 8 << 20} {
		pools := flowcontrol.NewPools(flowcontrol.Limits{Memory: limit}, nil)
		if got := (&reservation{pool: pools.ResponseBytes}).page(); got != want {
			t.Errorf("a limit of %d MiB: an answer has up to %d MiB, want %d", limit>>20, got>>20, want>>20)
		}
	}
}

// TestMemoryOfLargeResponsesIsShared checks that a response for which its user has no share left is refused, that those of other users and
// small ones are not, and that all memory is released.
func TestMemoryOfLargeResponsesIsShared(t *testing.T) {
	const all = 64 << 20
	pools := &flowcontrol.Pools{ResponseBytes: flowcontrol.NewPool(flowcontrol.Config{Resource: "bytes", Seats: all})}
	of := func(user string) *reservation { return &reservation{pool: pools.ResponseBytes, user: user} }
	large, next, small, other := of("greedy"), of("greedy"), of("greedy"), of("modest")
	for range 2 {
		if err := large.grow(t.Context(), all/4); err != nil {
			t.Fatalf("half of all: %v", err)
		}
	}
	if err := next.grow(t.Context(), uncountedAnswer+1); !errors.As(err, new(*flowcontrol.RejectedError)) {
		t.Errorf("above the share: %v", err)
	}
	if err := small.grow(t.Context(), uncountedAnswer); err != nil {
		t.Errorf("a small response: %v", err)
	}
	if err := other.reserve(t.Context(), firstReservation); err != nil {
		t.Errorf("another user: %v", err)
	}
	for range 2 {
		if err := other.grow(t.Context(), all/8); err != nil {
			t.Errorf("another user: %v", err)
		}
	}
	other.complete()
	if held := pools.View().Resources[5].InUse; held != all/2+all/4 {
		t.Errorf("%d bytes are held", held)
	}
	for _, r := range []*reservation{large, next, small, other} {
		r.release()
	}
	if held := pools.View().Resources[5].InUse; held != 0 {
		t.Errorf("afterwards %d bytes are held", held)
	}
	if err := of("greedy").grow(t.Context(), all/2); err != nil {
		t.Errorf("again: %v", err)
	}
}
