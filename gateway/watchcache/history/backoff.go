package history

import (
	"context"
	"time"
)

// MinPause and MaxPause bound the pause between two attempts to reach etcd.
const (
	MinPause = 50 * time.Millisecond
	MaxPause = 2 * time.Second
)

// Backoff doubles the pause between attempts to reach etcd. The zero value begins with MinPause.
type Backoff struct{ pause time.Duration }

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	pause := max(b.pause, MinPause)
	b.pause = min(2*pause, MaxPause)
	return pause
}

// Reset makes the next pause MinPause again.
func (b *Backoff) Reset() { b.pause = 0 }

// Sleep waits for a duration or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// notify puts a value into a channel for one, unless it holds a value already.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
