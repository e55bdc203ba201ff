package addresses

import (
	"errors"
	"net/netip"

	"revtail/gateway/api/kinds"
	"revtail/gateway/watchcache"
)

// networks is the kinds.Addresses of the cluster IPs of one family: those in the range that is given, and in those of ServiceCIDRs.
type networks struct {
	pool  *pool
	given netip.Prefix
}

// Reserve implements kinds.Addresses.
func (n *networks) Reserve(address string) error {
	if err := n.check(address); err != nil {
		return err
	}
	return n.pool.reserve(address)
}

// Taken implements kinds.Addresses.
func (n *networks) Taken(address string) error {
	if err := n.check(address); err != nil {
		return err
	}
	return n.pool.checkTaken(address)
}

// Release implements kinds.Addresses.
func (n *networks) Release(address string) { n.pool.release(address) }

// Next implements kinds.Addresses.
func (n *networks) Next(dryRun bool) (string, error) {
	for _, newest := range states {
		ranges, err := n.ranges(newest)
		if err != nil {
			return "", err
		}
		for _, r := range ranges {
			address, err := r.Next(dryRun)
			if !errors.Is(err, kinds.ErrNoMoreAddress) {
				return address, err
			}
		}
	}
	return "", kinds.ErrNoMoreAddress
}

// check fails with kinds.ErrAddressNotIn for an address that is in no range.
func (n *networks) check(address string) error {
	for _, newest := range states {
		ranges, err := n.ranges(newest)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			if r.check(address) == nil {
				return nil
			}
		}
	}
	return kinds.ErrAddressNotIn
}

// states are those in which ServiceCIDRs are read: what is in memory and then, if that has no address, the newest state of etcd, so that a ServiceCIDR
// counts as soon as the request that created it was answered.
var states = []bool{false, true}

// ranges returns the ranges of the networks of which addresses are allocated, the given one first.
func (n *networks) ranges(newest bool) (out []*addressRange, err error) {
	all, err := n.pool.serviceCIDRs(newest)
	if err != nil {
		return nil, n.pool.fail(err)
	}
	for _, network := range allocated(n.given, all) {
		out = append(out, ipRange(network, n.pool))
	}
	return out, nil
}

// allocated returns the networks of the family of the given one of which addresses are allocated: those of ServiceCIDRs that are ready, and the given one,
// unless all ServiceCIDRs that have it are not ready, as one that is being deleted.
func allocated(given netip.Prefix, all []ServiceCIDR) (out []netip.Prefix) {
	ready := make(map[netip.Prefix]bool)
	for _, one := range all {
		for _, network := range one.Networks {
			if network.Addr().Is4() == given.Addr().Is4() && hasAddresses(network) {
				ready[network] = ready[network] || one.Ready
			}
		}
	}
	if is, known := ready[given]; is || !known {
		out = append(out, given)
	}
	delete(ready, given)
	for _, one := range all { // in their order
		for _, network := range one.Networks {
			if ready[network] {
				out = append(out, network)
				delete(ready, network)
			}
		}
	}
	return out
}

// hasAddresses reports whether addresses can be allocated of a network, as of one that is given: a ServiceCIDR may have others.
func hasAddresses(network netip.Prefix) bool {
	bits := network.Addr().BitLen() - network.Bits()
	return bits >= 2 && bits <= 64
}

// serviceCIDRs returns the ServiceCIDRs in memory, or in the newest state of etcd.
func (p *pool) serviceCIDRs(newest bool) (out []ServiceCIDR, err error) {
	cache, err := p.config.ServiceCIDRs()
	if err != nil {
		return nil, err
	}
	var query watchcache.ListQuery
	if newest {
		if query.AtLeast, err = cache.Newest(p.ctx); err != nil {
			return nil, err
		}
	}
	list, err := cache.List(p.ctx, query)
	if err != nil {
		return nil, err
	}
	return ServiceCIDRs(list), nil
}
