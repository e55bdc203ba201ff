package storage

import "revtail/gateway/api/addresses"

// beginAllocation returns the allocation of the addresses of a Service; nil: they are those that clients choose. Data that is not revtail's own has
// another allocator, and the status of a Service has no addresses of it.
func (s *Store) beginAllocation(wr *Request) *addresses.Allocation {
	if !wr.Resource.IsServices() || wr.Subresource != "" || s.Claim.State().IsForeign() {
		return nil
	}
	return s.Addresses.Begin(wr.DryRun)
}
