package garbage

import (
	"context"
	"fmt"
)

// ownerWidth is how many objects without owners are deleted at the same time.
const ownerWidth = 8

// owners collects objects all of whose owners are gone, and deletes or orphans the dependents of owners that wait for that.
type owners struct {
	Config
	graph    *graph
	queue    *queue[objectKey]
	limiter  *limiter
	blocking countdown[objectKey] // the dependents that block the deletion of an owner
}

func newOwners(config Config, resources []*Resource) *owners {
	graph := newGraph(resources)
	return &owners{Config: config, graph: graph, queue: newQueue[objectKey](), limiter: &limiter{Config: config, graph: graph}}
}

// recheck resumes a stopped collector when the reason is gone. It returns when ctx ends.
func (c *owners) recheck(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, recheckPeriod)
		if c.limiter.resume(ctx) {
			c.enqueueOrphans(ctx, c.graph.orphans(ctx, func([]owner) bool { return false })...)
		}
	}
}

// observe takes in one change of an object.
func (c *owners) observe(ctx context.Context, key objectKey, change Change) {
	if change.Gone {
		c.graph.remove(key)
		c.queue.drop(key)
		c.blocking.set(key, 0)
		c.unblock(key, change.Object)
	} else {
		c.graph.set(key, change.Object)
		c.enqueueOrphans(ctx, key)
		if change.Object.mayPropagate() {
			c.queue.add(key)
		}
	}
	// Its dependents may be orphans now, even if it exists, because it may be another object of the same name.
	c.enqueueOrphans(ctx, c.graph.dependentsOf(key)...)
}

// forget removes the objects of a resource, which is about to be read anew.
func (c *owners) forget(r *Resource) {
	for _, key := range c.graph.forget(r) {
		c.queue.drop(key)
	}
}

// enqueueOrphans queues the objects whose owners are not in the caches. It drops no object from the queue: two goroutines may look at the
// same object, and the one with the newer state need not be the last.
func (c *owners) enqueueOrphans(ctx context.Context, keys ...objectKey) {
	for _, key := range keys {
		if c.graph.orphaned(ctx, key) {
			c.queue.add(key)
		}
	}
}

// step collects an object, or does what its deletion waits for.
func (c *owners) step(ctx context.Context, key objectKey) (verdict, error) {
	orphaned := c.graph.orphaned(ctx, key)
	if !orphaned && !c.propagates(ctx, key) {
		return done, nil
	}
	object, err := key.resource.Objects.Read(ctx, key.namespace, key.name)
	if err != nil || object == nil {
		return done, err
	}
	if m, ok := object.metadata(); ok && m.policy() != "" {
		return c.propagate(ctx, key, object, m)
	}
	if !orphaned {
		return done, nil // the cache lags behind, and a change will follow
	}
	return c.collect(ctx, key, object)
}

// collect deletes an object if etcd has none of its owners, and a DELETE request for one of them is recorded or the limiter allows it.
func (c *owners) collect(ctx context.Context, key objectKey, object *Object) (verdict, error) {
	owners := c.graph.ownersOf(key, object)
	if len(owners) == 0 {
		return done, nil
	}
	for _, o := range owners {
		found, exists, err := o.find(ctx)
		switch {
		case err != nil:
			return later, err
		case found != nil:
			return later, nil // the cache lags behind
		case exists:
			return done, nil
		}
	}
	requested, err := c.Requests.include(ctx, owners)
	switch {
	case err != nil || !requested && c.graph.isReading(): // the limiter counts all orphans, so it waits for all resources
		return later, err
	case !requested && !c.limiter.allow(ctx, key):
		return done, nil
	}
	// The object's revision is the precondition, and a uid that is gone does not come back: the owners need not be read again.
	because := fmt.Sprintf("its owner is gone: %v, uid %s", owners[0].objectKey, owners[0].uid)
	m, _ := object.metadata()
	if _, err := key.resource.Objects.Delete(ctx, object, m.deletionPolicy(), because); err != nil {
		return later, fmt.Errorf("%v, whose owners are gone: %w", key, err)
	}
	c.Logger.Debug("deleted an object whose owners are gone", "object", key.String(), "because", because)
	return done, nil
}

// find reads an owner from etcd. It exists without an object if another program has it.
func (o owner) find(ctx context.Context) (object *Object, exists bool, err error) {
	found, err := o.resource.Objects.Read(ctx, o.namespace, o.name)
	if err != nil {
		return nil, false, err
	}
	if found.is(o.uid) {
		return found, true, nil
	}
	exists, err = o.resource.Objects.Elsewhere(ctx, o.namespace, o.name)
	return nil, exists, err
}
