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
	// defaultLimit bounds the objects that are collected per limitPeriod although no DELETE request named their owners.
	defaultLimit = 100
	// defaultShare bounds them to one in defaultShare objects of a resource, but to alwaysFew at least.
	defaultShare = 10
	alwaysFew    = 5
	// limitPeriod is how long a collected object counts.
	limitPeriod = time.Hour
	// countEvery is the maximum age of the count of objects without owners, because the count reads all objects with owners.
	countEvery = time.Second
	// recheckStop is the interval in which a stopped collector counts again.
	recheckStop = 10 * time.Second
)

// Stop is the reason why a collector has stopped and waits for an operator.
type Stop struct {
	Since   time.Time
	Objects int    // number of objects without owners and without a DELETE request, including collected ones
	Limit   int    // of these objects
	What    string // their resource; empty: all resources
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

// limiter stops a collector that would delete many objects without a DELETE request for their owners, because such owners may exist but
// be invisible.
type limiter struct {
	limit    int // zero: defaultLimit and defaultShare
	graph    *graph
	requests *Requests
	log      *slog.Logger

	mu        sync.Mutex // guards the fields below
	began     time.Time  // of the period that the two below are of
	collected map[object]*Resource
	most      map[string]int       // the maximum number of objects by resource
	lost      map[object]*Resource // collected, and the objects without owners at the last count
	counted   time.Time
	stopped   *Stop
}

// allow reports whether an object that lost its owners without a DELETE request may be collected, and counts it.
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

// recheck resumes a stopped collector if the reason is gone, and reports whether it did.
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
	l.log.Info("the garbage collector resumes")
	return true
}

// countLocked sets lost.
func (l *limiter) countLocked(ctx context.Context) {
	l.lost, l.counted = maps.Clone(l.collected), time.Now()
	for _, at := range l.graph.orphans(ctx, l.requests.isKnown) {
		l.lost[at.object()] = at.resource
	}
}

// exceededLocked returns a Stop if there are too many of them.
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

// object is a place without the version of the resource.
type object struct{ resource, namespace, name string }

func (p place) object() object { return object{p.resource.Name, p.namespace, p.name} }

// stop returns why the collector has stopped; nil: it has not.
func (l *limiter) stop() *Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}
