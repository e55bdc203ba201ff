package storage

import (
	"context"

	"revtail/gateway/api/addresses"
	"revtail/gateway/api/object"
	"revtail/gateway/resource"
)

// allocator returns what gives the Services of a request their addresses; nil: they have those that clients choose. Data that is not revtail's own has
// another allocator.
func (s *Store) allocator(ref resource.Ref) *addresses.Allocator {
	if ref.Resource.Group != "" || ref.Resource.Plural != "services" || ref.Resource.Mount != nil || s.Claim.State().IsForeign() {
		return nil
	}
	return s.Addresses
}

// allocate sets the addresses of a Service, which is new if there is no old one. finishAllocation follows.
func (wr *Request) allocate(ctx context.Context, d, old object.Object) (err error) {
	if wr.addresses == nil || wr.Subresource != "" {
		return nil
	}
	if old.Unstructured == nil {
		wr.allocated, err = wr.addresses.Create(ctx, d.Object, wr.DryRun)
	} else {
		wr.allocated, err = wr.addresses.Update(ctx, d.Object, old.Object, wr.DryRun)
	}
	return err
}

// finishAllocation tells the allocator the result of a write, if it has allocated addresses for it.
func (wr *Request) finishAllocation(done Result, err error) {
	if wr.allocated != nil {
		wr.allocated(done.revision, err)
		wr.allocated = nil
	}
}
