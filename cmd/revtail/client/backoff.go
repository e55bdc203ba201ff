package client

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	minBackoff = 200 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Backoff is the pause before the next attempt of a request. It doubles with each attempt, from 200 ms to 10 s. The zero value is ready for
// use.
type Backoff struct{ last time.Duration }

// Reset makes the next pause the shortest one, because an attempt succeeded.
func (b *Backoff) Reset() { b.last = 0 }

// Wait waits until the next attempt, or until ctx ends. err is the error of the last attempt, which may be nil: if it is a response with
// Retry-After, Wait waits at least as long.
func (b *Backoff) Wait(ctx context.Context, err error) {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	select {
	case <-time.After(max(b.last/2+rand.N(b.last), retryAfter(err))):
	case <-ctx.Done():
	}
}
