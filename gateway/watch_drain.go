package gateway

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

// drain ends the watches one after the other: in as much time as ctx has left, less a part for those that take their time to
// end, but not slower than drainRate. When ctx ends, what is still open is cut.
func (s *registry) drain(ctx context.Context) error {
	ended, open := s.beginDraining()
	if len(open) == 0 {
		return nil
	}
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for each := watchesPerTick(ctx, len(open)); len(open) > 0; {
		n := min(each, len(open))
		s.endEach(open[:n])
		if open = open[n:]; len(open) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.endEach(open)
			s.abort()
			return ctx.Err()
		}
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.abort()
		return ctx.Err()
	}
}

// beginDraining refuses new watches from here on. ended is closed when the open ones have ended.
func (s *registry) beginDraining() (ended <-chan struct{}, open []*registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if len(s.open) > 0 && s.ended == nil {
		s.ended = make(chan struct{})
	}
	return s.ended, slices.Collect(maps.Keys(s.open))
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

func (s *registry) endEach(open []*registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range open {
		if _, still := s.open[o]; still {
			o.draining = true
			o.endLocked()
		}
	}
}

// abort breaks what is still open when the time to drain is over.
func (s *registry) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborting = true
	for o := range s.open {
		o.abortLocked()
	}
}
