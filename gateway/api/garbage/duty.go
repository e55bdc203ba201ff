package garbage

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long a leader without anything to do stays one, because what it has done often makes more to do.
const linger = 5 * time.Second

// duty is work on the keys of a queue, done by one replica at a time.
type duty[K comparable] struct {
	queue    *queue[K]
	election *election
	width    int                         // how many keys have their turn at the same time
	begin    func(context.Context) error // when this replica has become the leader; nil: nothing
	step     func(context.Context, K) (verdict, error)
	log      *slog.Logger

	failing atomic.Bool // the last step failed, and that was logged
}

// run works until ctx ends.
func (d *duty[K]) run(ctx context.Context) {
	for d.queue.wait(ctx) {
		d.election.lead(ctx, d.queue.due, d.work)
	}
}

// work gives keys their turns until there has been nothing to do for a while, or ctx ends.
func (d *duty[K]) work(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if d.begin != nil {
		if err := d.begin(ctx); err != nil && ctx.Err() == nil {
			d.log.Debug("something could not be tidied up", "error", err)
		}
	}
	seats := make(chan struct{}, d.width)
	for d.ready(ctx, seats) {
		key, ok := d.queue.take()
		if !ok { // dropped in this moment
			<-seats
			continue
		}
		running.Go(func() {
			d.queue.finish(key, d.turn(ctx, key))
			<-seats
		})
	}
}

// ready waits for a seat, which it takes, and for a key that is due.
func (d *duty[K]) ready(ctx context.Context, seats chan<- struct{}) bool {
	select {
	case seats <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, linger)
	defer cancel()
	return d.queue.wait(bounded)
}

func (d *duty[K]) turn(ctx context.Context, key K) verdict {
	v, err := d.step(ctx, key)
	switch {
	case err == nil:
		d.failing.Store(false)
		return v
	case ctx.Err() != nil:
	case d.failing.Swap(true):
		d.log.Debug("failed again", "error", err)
	default:
		d.log.Warn("something could not be cleaned up, trying again", "error", err)
	}
	return later
}
