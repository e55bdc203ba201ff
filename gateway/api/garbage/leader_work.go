package garbage

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// idleTimeout is how long a leader with an empty queue keeps the leadership, because one deletion often leads to others.
const idleTimeout = 5 * time.Second

// leaderWork is the work on the keys of a queue. One replica at a time does it.
type leaderWork[K comparable] struct {
	queue    *queue[K]
	election *election
	width    int                         // how many keys are worked on at the same time
	begin    func(context.Context) error // called when this replica becomes the leader; nil: nothing
	step     func(context.Context, K) (verdict, error)
	log      *slog.Logger

	failing atomic.Bool // the last step failed, and that was logged
}

// run works until ctx ends.
func (l *leaderWork[K]) run(ctx context.Context) {
	for l.queue.wait(ctx) {
		l.election.lead(ctx, l.queue.due, l.work)
	}
}

// work takes keys from the queue until nothing has been due for idleTimeout, or ctx ends.
func (l *leaderWork[K]) work(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if l.begin != nil {
		if err := l.begin(ctx); err != nil && ctx.Err() == nil {
			l.log.Debug("something could not be tidied up", "error", err)
		}
	}
	slots := make(chan struct{}, l.width)
	for l.ready(ctx, slots) {
		key, ok := l.queue.take()
		if !ok { // the key was dropped meanwhile
			<-slots
			continue
		}
		running.Go(func() {
			l.queue.finish(key, l.try(ctx, key))
			<-slots
		})
	}
}

// ready waits for a slot, which it takes, and for a key that is due.
func (l *leaderWork[K]) ready(ctx context.Context, slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	return l.queue.wait(bounded)
}

// try takes one step. After an error the key is tried again later.
func (l *leaderWork[K]) try(ctx context.Context, key K) verdict {
	v, err := l.step(ctx, key)
	switch {
	case err == nil:
		l.failing.Store(false)
		return v
	case ctx.Err() != nil:
	case l.failing.Swap(true):
		l.log.Debug("failed again", "error", err)
	default:
		l.log.Warn("something could not be cleaned up, trying again", "error", err)
	}
	return later
}
