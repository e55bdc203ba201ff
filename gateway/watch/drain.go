package watch

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// drainRate is how many watches a second end at least while the server drains, so that their clients do not all come to
	// another one at the same moment.
	drainRate = 200
	drainTick = 50 * time.Millisecond
)

// Drain ends the watches one after the other: in as much time as ctx has left, less a part for those that take their time to
// end, but not slower than drainRate. When ctx ends, what is still open is cut.
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
			r.Abort()
			return ctx.Err()
		}
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		r.Abort()
		return ctx.Err()
	}
}

// beginDraining refuses new watches from here on. ended is closed when the open ones have ended.
func (r *registry) beginDraining() (ended <-chan struct{}, open []*registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	if len(r.open) > 0 && r.ended == nil {
		r.ended = make(chan struct{})
	}
	return r.ended, slices.Collect(maps.Keys(r.open))
}

// watchesPerTick is how many of n watches end in each tick.
func watchesPerTick(ctx context.Context, n int) int {
	rate := drainRate
	if deadline, ok := ctx.Deadline(); ok {
		ticks := max(1, int(time.Until(deadline)*3/4/drainTick))
		rate = max(rate, n/ticks*int(time.Second/drainTick))
	}
	return max(1, rate*int(drainTick/time.Millisecond)/1000)
}

func (r *registry) endEach(open []*registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range open {
		if _, still := r.open[e]; still {
			e.draining = true
			e.endLocked()
		}
	}
}

// Abort breaks what is still open when the time to drain is over.
func (r *registry) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborting = true
	for e := range r.open {
		e.abortLocked()
	}
}
