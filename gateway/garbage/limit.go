package garbage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

const (
	// defaultLimit is how many objects whose owners are gone without a DELETE request are collected within limitPeriod.
	defaultLimit = 100
	// defaultShare is the part of a resource's objects, one in so many, that are collected so; but a few always are.
	defaultShare = 10
	alwaysFew    = 5
	// limitPeriod is how long what has been collected counts.
	limitPeriod = time.Hour
	// recheckStop is how often a collector that has stopped looks whether the objects that it held back for are still there.
	recheckStop = 10 * time.Second
)

// Stop says that a collector has stopped, because an operator should look first.
type Stop struct {
	Since   time.Time
	Objects int    // how many objects have lost their owners without a DELETE request, those already collected included
	Limit   int    // how many may be collected
	What    string // of which resource; empty: of all together
	Example string // one of them
}

func (s Stop) String() string {
	what := s.What
	if what == "" {
		what = "objects"
	}
	return fmt.Sprintf("%d %s, as %s, have owners that are gone though nobody sent a DELETE request for them: more than %d are not collected without a person's word. "+
		"Restore the owners, delete the objects, or start revtail with --garbage-collector-limit above their number", s.Objects, what, s.Example, s.Limit)
}

// limiter holds a collector back that would delete much that nobody asked for: an owner that is gone without a DELETE request may be
// one that is only out of sight.
type limiter struct {
	limit    int // zero: defaultLimit and defaultShare
	graph    *graph
	requests *Requests
	log      *slog.Logger

	mu        sync.Mutex // guards the fields below
	began     time.Time  // of the period that the two below are of
	collected map[place]struct{}
	most      map[*Resource]int // how many objects there were
	stopped   *Stop
}

// allow tells whether an object that lost its owners without a DELETE request may be collected, and counts it then.
func (l *limiter) allow(ctx context.Context, at place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) > limitPeriod {
		l.began, l.collected, l.most = now, make(map[place]struct{}), make(map[*Resource]int)
	}
	if l.stopped != nil {
		return false
	}
	if l.stopped = l.exceededLocked(ctx); l.stopped != nil {
		l.log.Error("the garbage collector has stopped", "reason", l.stopped.String())
		return false
	}
	l.collected[at] = struct{}{}
	return true
}

// recheck lets a collector that has stopped go on when the reason has gone, and tells so.
func (l *limiter) recheck(ctx context.Context) (resumed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped == nil {
		return false
	}
	since := l.stopped.Since
	if l.stopped = l.exceededLocked(ctx); l.stopped != nil {
		l.stopped.Since = since
		return false
	}
	l.log.Info("the garbage collector goes on")
	return true
}

// exceededLocked returns a Stop where the objects that have lost their owners without a DELETE request, with those that were
// collected, are too many.
func (l *limiter) exceededLocked(ctx context.Context) *Stop {
	lost := maps.Clone(l.collected)
	for _, at := range l.graph.orphans(ctx, l.requests.isKnown) {
		lost[at] = struct{}{}
	}
	each := make(map[*Resource]int)
	for at := range lost {
		each[at.resource]++
	}
	limit := cmp.Or(l.limit, defaultLimit)
	for at := range lost {
		if len(lost) > limit {
			return &Stop{Since: time.Now(), Objects: len(lost), Limit: limit, Example: at.String()}
		}
		share := l.shareLocked(at.resource)
		if n := each[at.resource]; l.limit == 0 && n > share {
			return &Stop{Since: time.Now(), Objects: n, Limit: share, What: at.resource.Name, Example: at.String()}
		}
	}
	return nil
}

// shareLocked is how many objects of a resource may be collected.
func (l *limiter) shareLocked(r *Resource) int {
	l.most[r] = max(l.most[r], r.Objects.Count())
	return max(l.most[r]/defaultShare, alwaysFew)
}

// stop is why the collector has stopped; nil: it has not.
func (l *limiter) stop() *Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}
