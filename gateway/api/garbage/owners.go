package garbage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// ownerWidth is how many objects without owners are deleted at the same time.
const ownerWidth = 8

// owners collects objects all of whose owners are gone, and ends those that wait for their dependents.
type owners struct {
	graph    *graph
	queue    *queue[place]
	requests *Requests
	limiter  *limiter
	log      *slog.Logger

	mu      sync.Mutex             // guards reading
	reading map[*Resource]struct{} // those whose state has not been read whole yet

	propagation propagation
}

func newOwners(config Config, resources []*Resource) *owners {
	graph := newGraph(resources)
	c := &owners{
		graph: graph, queue: newQueue[place](), requests: config.Requests, log: config.Logger,
		limiter: &limiter{limit: config.Limit, graph: graph, requests: config.Requests, log: config.Logger},
	}
	c.reading = make(map[*Resource]struct{}, len(resources))
	for _, r := range resources {
		c.reading[r] = struct{}{}
	}
	return c
}

// isReading reports whether the state of a resource has not been read whole yet.
func (c *owners) isReading() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.reading) > 0
}

// recheck has a collector that has stopped go on when it may.
func (c *owners) recheck(ctx context.Context) {
	if c.limiter.recheck(ctx) {
		c.suspect(ctx, c.graph.orphans(ctx, func([]owner) bool { return false })...)
	}
}

// see takes in one change of any object.
func (c *owners) see(ctx context.Context, at place, change Change) {
	if change.Gone {
		c.graph.remove(at)
		c.queue.drop(at)
		c.propagation.forget(at)
		for _, owner := range c.propagation.lastAwaited(at, change.Object, c.graph) {
			c.queue.add(owner)
		}
	} else {
		c.graph.set(at, change.Object)
		c.suspect(ctx, at)
		if change.Object.mayPropagate() {
			c.queue.add(at)
		}
	}
	// Its dependents may have lost it, also when it is not gone but another one, of the same name, took its place.
	c.suspect(ctx, c.graph.dependentsOf(at)...)
}

// restart is said before a resource is read anew, and reviewed when that has been done: deletions may have been missed.
func (c *owners) restart(r *Resource) {
	c.mu.Lock()
	c.reading[r] = struct{}{}
	c.mu.Unlock()
	for _, at := range c.graph.forget(r) {
		c.queue.drop(at)
	}
}

func (c *owners) review(ctx context.Context, r *Resource) {
	c.mu.Lock()
	delete(c.reading, r)
	c.mu.Unlock()
	c.suspect(ctx, c.graph.dependentsOn(r)...)
}

// suspect queues those that seem to be without an owner. It takes none out of the queue: two goroutines may look at the same
// object, and the one that saw more need not be the last. Their turn will show.
func (c *owners) suspect(ctx context.Context, places ...place) {
	for _, at := range places {
		if c.graph.orphaned(ctx, at) {
			c.queue.add(at)
		}
	}
}

// step looks at an object in etcd, and does for it what there is to do.
func (c *owners) step(ctx context.Context, at place) (verdict, error) {
	orphaned := c.graph.orphaned(ctx, at)
	if !orphaned && !c.propagates(ctx, at) {
		return done, nil
	}
	object, err := at.resource.Objects.Read(ctx, at.namespace, at.name)
	if err != nil || object == nil {
		return done, err
	}
	if f, ok := object.facts(); ok && f.policy() != "" {
		return c.propagate(ctx, at, object, f)
	}
	if !orphaned {
		return done, nil // the cache will learn of it, and say so
	}
	return c.collect(ctx, at, object)
}

// collect deletes an object if etcd says as well that all its owners are gone.
func (c *owners) collect(ctx context.Context, at place, object *Object) (verdict, error) {
	owners := c.graph.owners(at, object)
	if len(owners) == 0 {
		return done, nil
	}
	for _, o := range owners {
		found, err := o.resource.Objects.Read(ctx, o.namespace, o.name)
		if err != nil {
			return later, err
		}
		if found.is(o.uid) {
			return later, nil // the cache will learn of it
		}
		elsewhere, err := o.resource.Objects.Elsewhere(ctx, o.namespace, o.name)
		if err != nil || elsewhere {
			return done, err // another program has it
		}
	}
	if ok, v, err := c.permitted(ctx, at, owners); !ok {
		return v, err
	}
	// From here on the object's revision vouches for its owners: a uid that is gone does not come back.
	because := fmt.Sprintf("its owner is gone: %v, uid %s", owners[0].place, owners[0].uid)
	if _, err := at.resource.Objects.Delete(ctx, object, "", because); err != nil {
		return later, fmt.Errorf("%v, whose owners are gone: %w", at, err)
	}
	c.log.Debug("deleted an object whose owners are gone", "object", at.String(), "because", because)
	return done, nil
}

// permitted reports whether an object without owners may be collected: somebody has sent a DELETE request for one of them, or it is one
// of few. How many there are shows when all has been read.
func (c *owners) permitted(ctx context.Context, at place, owners []owner) (ok bool, v verdict, err error) {
	asked, err := c.requests.asked(ctx, owners)
	switch {
	case err != nil:
		return false, later, err
	case asked:
		return true, done, nil
	case c.isReading():
		return false, later, nil
	}
	return c.limiter.allow(ctx, at), done, nil
}
