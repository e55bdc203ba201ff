package addresses

import (
	"context"

	"revtail/etcdstore"
)

// Allocation has the addresses that one write allocates. Nil: it allocates none. One goroutine uses it.
type Allocation struct {
	allocator *Allocator
	dryRun    bool
	finish    finish
}

// finish ends the allocation of an object with the result of its write.
type finish func(written etcdstore.Revision, err error)

// Create sets the addresses of a new Service, in place. The error is a *apierrors.StatusError, one of etcdstore or watchcache, or that of ctx.
func (a *Allocation) Create(ctx context.Context, object map[string]any) (err error) {
	if a == nil {
		return nil
	}
	a.finish, err = a.allocator.allocate(ctx, object, func() (func(bool), error) { return a.allocator.services.Create(ctx, object, a.dryRun) })
	return err
}

// Update is Create for a Service that replaces old. A write that is tried again calls Finish before.
func (a *Allocation) Update(ctx context.Context, object, old map[string]any) (err error) {
	if a == nil {
		return nil
	}
	a.finish, err = a.allocator.allocate(ctx, object, func() (func(bool), error) { return a.allocator.services.Update(ctx, object, old, a.dryRun) })
	return err
}

// Finish ends the allocation with the result of the write: the revision of the Service, or an error.
func (a *Allocation) Finish(written etcdstore.Revision, err error) {
	if a != nil && a.finish != nil {
		a.finish(written, err)
		a.finish = nil
	}
}
