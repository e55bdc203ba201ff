package garbage

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long a leader without work stays the leader, because its changes often cause more work.
const linger = 5 * time.Second

// leaderWork is work on the keys of a queue that one replica at a time does.
type leaderWork[K comparable] struct {
	queue    *queue[K]
	election *election
	width    int                         // number of keys at the same time
	begin    func(context.Context) error // called when this replica becomes the leader; may be nil
	step     func(context.Context, K) (verdict, error)
	log      *slog.Logger

	failing atomic.Bool // the last step failed, and its error was logged
}

// run works until ctx ends.
func (w *leaderWork[K]) run(ctx context.Context) {
	for w.queue.wait(ctx) {
		w.election.lead(ctx, w.queue.due, w.lead)
	}
}

// lead processes keys until ctx ends, or the queue has been empty for linger.
func (w *leaderWork[K]) lead(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if w.begin != nil {
		if err := w.begin(ctx); err != nil && ctx.Err() == nil {
			w.log.Debug("preparations of the leader failed", "error", err)
		}
	}
	seats := make(chan struct{}, w.width)
	for w.ready(ctx, seats) {
		key, ok := w.queue.take()
		if !ok { // dropped in the meantime
			<-seats
			continue
		}
		running.Go(func() {
			w.queue.finish(key, w.turn(ctx, key))
			<-seats
		})
	}
}

// ready acquires a seat and waits for a key that is due.
func (w *leaderWork[K]) ready(ctx context.Context, seats chan<- struct{}) bool {
	select {
	case seats <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, linger)
	defer cancel()
	return w.queue.wait(bounded)
}

func (w *leaderWork[K]) turn(ctx context.Context, key K) verdict {
	v, err := w.step(ctx, key)
	switch {
	case err == nil:
		w.failing.Store(false)
		return v
	case ctx.Err() != nil:
	case w.failing.Swap(true):
		w.log.Debug("failed again", "error", err)
	default:
		w.log.Warn("something could not be cleaned up, trying again", "error", err)
	}
	return later
}
