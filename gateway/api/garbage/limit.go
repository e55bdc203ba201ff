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
	// countEvery is how old the count may be of what has lost its owners: it looks at every object that has any.
	countEvery = time.Second
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
	collected map[object]*Resource
	most      map[string]int       // how many objects there were of a resource
	lost      map[object]*Resource // that, and what had lost its owners when it was last counted
	counted   time.Time
	stopped   *Stop
}

// allow reports whether an object that lost its owners without a DELETE request may be collected, and counts it then.
func (l *limiter) allow(ctx context.Context, at place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) > limitPeriod {
		l.began, l.collected, l.most = now, make(map[object]*Resource), make(map[string]int)
	}
	if l.stopped != nil {
		return false
	}
	if time.Since(l.counted) >= countEvery {
		l.countLocked(ctx)
	}
	l.lost[at.object()] = at.resource
	if l.stopped = l.exceededLocked(); l.stopped != nil {
		l.log.Error("the garbage collector has stopped", "reason", l.stopped.String())
		return false
	}
	l.collected[at.object()] = at.resource
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
	l.countLocked(ctx)
	if l.stopped = l.exceededLocked(); l.stopped != nil {
		l.stopped.Since = since
		return false
	}
	l.log.Info("the garbage collector goes on")
	return true
}

// countLocked finds the objects that have lost their owners without a DELETE request, with those that were collected.
func (l *limiter) countLocked(ctx context.Context) {
	l.lost, l.counted = maps.Clone(l.collected), time.Now()
	for _, at := range l.graph.orphans(ctx, l.requests.isKnown) {
		l.lost[at.object()] = at.resource
	}
}

// exceededLocked returns a Stop where these objects are too many.
func (l *limiter) exceededLocked() *Stop {
	type loss struct {
		resource *Resource
		objects  int
		example  place
	}
	losses := make(map[string]loss)
	for o, r := range l.lost {
		losses[o.resource] = loss{r, losses[o.resource].objects + 1, place{r, o.namespace, o.name}}
	}
	limit := cmp.Or(l.limit, defaultLimit)
	for name, loss := range losses {
		if len(l.lost) > limit {
			return &Stop{Since: time.Now(), Objects: len(l.lost), Limit: limit, Example: loss.example.String()}
		}
		if l.limit > 0 || loss.objects <= alwaysFew {
			continue
		}
		l.most[name] = max(l.most[name], loss.resource.Objects.Count())
		if share := max(l.most[name]/defaultShare, alwaysFew); loss.objects > share {
			return &Stop{Since: time.Now(), Objects: loss.objects, Limit: share, What: name, Example: loss.example.String()}
		}
	}
	return nil
}

// object is what stands at a place, whichever version of its resource the place is of.
type object struct{ resource, namespace, name string }

func (p place) object() object { return object{p.resource.Name, p.namespace, p.name} }

// stop is why the collector has stopped; nil: it has not.
func (l *limiter) stop() *Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}
