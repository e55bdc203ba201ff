package watch

import (
	"context"
	"slices"
	"time"
)

const (
	// drainRate is the lowest number of watches per second that Drain ends. Drain spreads the ends over time, because otherwise all
	// clients would connect to another replica at the same moment.
	drainRate = 200
	// drainTick is the pause between two groups of watches that Drain ends.
	drainTick = 50 * time.Millisecond
)

// Drain refuses new streams and ends the open ones in groups, at drainRate or faster. It spreads the ends over three quarters of the time
// that ctx has left; the last quarter is for slow clients. Drain returns nil when all streams have ended. If ctx ends before that, Drain
// breaks the connections of the remaining streams and returns the error of ctx.
func (r *registry) Drain(ctx context.Context) error {
	ended, open := r.beginDraining()
	if len(open) == 0 {
		return nil
	}
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for each := watchesPerTick(ctx, len(open)); len(open) > 0; {
		n := min(each, len(open))
		r.endEach(open[:n])
		if open = open[n:]; len(open) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.endEach(open)
			r.abort()
			return ctx.Err()
		}
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		r.abort()
		return ctx.Err()
	}
}

// beginDraining makes Add refuse new streams, and returns the open ones. ended is closed when all of them have ended; nil: none is open.
func (r *registry) beginDraining() (ended <-chan struct{}, open []*registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	if r.open.len() > 0 && r.ended == nil {
		r.ended = make(chan struct{})
	}
	return r.ended, slices.Collect(r.open.all())
}

// watchesPerTick returns how many of n streams Drain ends in each tick.
func watchesPerTick(ctx context.Context, n int) int {
	rate := drainRate
	if deadline, ok := ctx.Deadline(); ok {
		ticks := max(1, int(time.Until(deadline)*3/4/drainTick))
		rate = max(rate, n/ticks*int(time.Second/drainTick))
	}
	return max(1, rate*int(drainTick/time.Millisecond)/1000)
}

// endEach ends those of the streams that are still open.
func (r *registry) endEach(open []*registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range open {
		if r.open.contains(e) {
			e.draining = true
			e.endLocked()
		}
	}
}

// abort breaks the connections of all open streams, and of those that get a connection or a loop later.
func (r *registry) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborting = true
	for e := range r.open.all() {
		e.abortLocked()
	}
}
