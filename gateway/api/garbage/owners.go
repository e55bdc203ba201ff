package garbage

import (
	"context"
	"fmt"
	"log/slog"
)

// ownerWidth is how many objects without owners are deleted at the same time.
const ownerWidth = 8

// owners collects objects all of whose owners are gone, and ends those that wait for their dependents.
type owners struct {
	graph *graph
	queue *queue[place]
	log   *slog.Logger

	propagation propagation
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
	for _, at := range c.graph.forget(r) {
		c.queue.drop(at)
	}
}

func (c *owners) review(ctx context.Context, r *Resource) {
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
	}
	// From here on the object's revision vouches for its owners: a uid that is gone does not come back.
	if _, err := at.resource.Objects.Delete(ctx, object, ""); err != nil {
		return later, fmt.Errorf("%s %s/%s, whose owners are gone: %w", at.resource.Name, at.namespace, at.name, err)
	}
	c.log.Debug("deleted an object whose owners are gone", "resource", at.resource.Name, "namespace", at.namespace, "name", at.name,
		"owner", owners[0].resource.Name+"/"+owners[0].name, "uid", owners[0].uid)
	return done, nil
}
