package keys

import (
	"context"

	"revtail/gateway/access/flowcontrol"
)

const (
	// uncountedAnswer is the size up to which an answer is not counted.
	uncountedAnswer = 256 << 10
	// firstReservation is how much a prefix reserves before it is read, while nothing is held and waiting is cheap.
	firstReservation = 1 << 20
)

// reservation counts the bytes of values that an answer holds: it is in memory as a whole until its client has taken it, or is disconnected
// because it stopped to read.
type reservation struct {
	pool  *flowcontrol.Pool
	user  string
	seats flowcontrol.Seats
	size  int64 // of the answer
	held  int64 // of the pool
}

// page is about how many bytes of values an answer has at most: a share of the memory. The keys that follow are in the next page.
func (r *reservation) page() int64 { return min(maxKeysAnswer, r.pool.Seats()/4) }

// reserve takes the first part of the memory, and waits until there is some.
func (r *reservation) reserve(ctx context.Context, n int64) (err error) {
	if r.seats, err = r.pool.Acquire(ctx, r.user, n); err == nil {
		r.held = n
	}
	return err
}

// grow adds bytes to the answer. The error is a *flowcontrol.RejectedError when the user has no share left.
func (r *reservation) grow(ctx context.Context, n int) (err error) {
	r.size += int64(n)
	more := r.size - r.held
	switch {
	case r.size <= uncountedAnswer, more <= 0:
		return nil
	case r.held == 0:
		return r.reserve(ctx, r.size)
	}
	if err = r.seats.Grow(more); err == nil {
		r.held = r.size
	}
	return err
}

// complete returns what the answer does not need after all.
func (r *reservation) complete() {
	if r.size <= uncountedAnswer {
		r.seats.Release()
	} else if r.size < r.held {
		r.seats.Set(r.size)
	}
}

// release returns the memory, when the answer has been sent or has failed.
func (r *reservation) release() { r.seats.Release() }
