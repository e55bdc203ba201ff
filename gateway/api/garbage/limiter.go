package garbage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// defaultLimit is how many objects are collected within limitPeriod without a DELETE request for their owners.
	defaultLimit = 100
	// defaultShare limits them to one in so many of a resource's objects, but not below minLimit.
	defaultShare = 10
	minLimit     = 5
	limitPeriod  = time.Hour
	// countPeriod is how old the count of orphans may be, because counting looks at every object with owners.
	countPeriod = time.Second
	// recheckPeriod is how often a stopped collector counts the orphans again.
	recheckPeriod = 10 * time.Second
)

// Stop says why a collector has stopped: an operator must decide.
type Stop struct {
	Since   time.Time
	Objects int    // the objects that lost their owners without a DELETE request, with those that were collected
	Limit   int    // of these objects
	What    string // their resource; empty: all resources together
	Example string // one of the objects
}

func (s Stop) String() string {
	return fmt.Sprintf("%d %s, as %s, have owners that are gone without a DELETE request: the collector deletes at most %d of such objects. "+
		"Restore the owners, delete the objects, or start revtail with --garbage-collector-limit above their number", s.Objects, cmp.Or(s.What, "objects"), s.Example, s.Limit)
}

// limiter stops a collector that would delete many objects without a DELETE request for their owners, because such an owner may have
// been lost by mistake.
type limiter struct {
	Config
	graph *graph

	mu        sync.Mutex // guards the fields below
	began     time.Time  // of the period of collected and most
	collected map[object]*Resource
	most      map[string]int       // the highest number of objects, by resource
	lost      map[object]*Resource // collected, and the orphans when they were last counted
	counted   time.Time
	stopped   *Stop
}

// allow reports whether an object that lost its owners without a DELETE request may be collected. It counts an allowed object.
func (l *limiter) allow(ctx context.Context, key objectKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) > limitPeriod {
		l.began, l.collected, l.most = now, make(map[object]*Resource), make(map[string]int)
	}
	if l.stopped != nil {
		return false
	}
	if time.Since(l.counted) >= countPeriod {
		l.countLocked(ctx)
	}
	l.lost[key.object()] = key.resource
	if l.stopped = l.exceededLocked(); l.stopped != nil {
		l.Logger.Error("the garbage collector has stopped", "reason", l.stopped.String())
		return false
	}
	l.collected[key.object()] = key.resource
	return true
}

// resume lets a stopped collector continue when the reason is gone, and reports whether it did.
func (l *limiter) resume(ctx context.Context) (resumed bool) {
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
	l.Logger.Info("the garbage collector goes on")
	return true
}

// countLocked finds the objects that lost their owners without a DELETE request, with those that were collected.
func (l *limiter) countLocked(ctx context.Context) {
	l.lost, l.counted = maps.Clone(l.collected), time.Now()
	for _, key := range l.graph.orphans(ctx, l.Requests.known) {
		l.lost[key.object()] = key.resource
	}
}

// exceededLocked returns a Stop if these objects are too many.
func (l *limiter) exceededLocked() *Stop {
	type loss struct {
		resource *Resource
		objects  int
		example  objectKey
	}
	losses := make(map[string]loss)
	for o, r := range l.lost {
		losses[o.resource] = loss{r, losses[o.resource].objects + 1, objectKey{r, o.namespace, o.name}}
	}
	limit := cmp.Or(l.Limit, defaultLimit)
	for name, loss := range losses {
		if len(l.lost) > limit {
			return &Stop{Since: time.Now(), Objects: len(l.lost), Limit: limit, Example: loss.example.String()}
		}
		if l.Limit > 0 || loss.objects <= minLimit {
			continue
		}
		l.most[name] = max(l.most[name], loss.resource.Objects.Count())
		if share := max(l.most[name]/defaultShare, minLimit); loss.objects > share {
			return &Stop{Since: time.Now(), Objects: loss.objects, Limit: share, What: name, Example: loss.example.String()}
		}
	}
	return nil
}

// object names an object, whatever the version of its resource.
type object struct{ resource, namespace, name string }

func (k objectKey) object() object { return object{k.resource.Name, k.namespace, k.name} }

// stop returns why the collector has stopped; nil: it has not.
func (l *limiter) stop() *Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}
