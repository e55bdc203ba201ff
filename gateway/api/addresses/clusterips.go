package addresses

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
)

// clusterIPs is the ipallocator.Interface of a range: of all its addresses but the first one, which is the network's, and for IPv4 the last one, which
// is for broadcasts.
type clusterIPs struct {
	addressRange
	prefix netip.Prefix
	dryRun bool
}

// maxSize bounds the number of addresses of a range of IPv6.
const maxSize = 1 << 62

func newClusterIPs(prefix netip.Prefix, p *pool) *clusterIPs {
	c := &clusterIPs{prefix: prefix.Masked()}
	all := uint64(maxSize)
	if bits := prefix.Addr().BitLen() - prefix.Bits(); bits < 62 {
		all = 1 << bits
	}
	size := all - 1
	if prefix.Addr().Is4() {
		size--
	}
	c.addressRange = newAddressRange(p, size, 16, 256, func(n uint64) string { return c.at(n).String() })
	return c
}

// at returns an address by its number.
func (c *clusterIPs) at(n uint64) netip.Addr {
	base := c.prefix.Addr().AsSlice()
	if c.prefix.Addr().Is4() {
		binary.BigEndian.PutUint32(base, binary.BigEndian.Uint32(base)+uint32(n)+1) //nolint:gosec // less than the size of the range
	} else {
		binary.BigEndian.PutUint64(base[8:], binary.BigEndian.Uint64(base[8:])+n+1)
	}
	addr, _ := netip.AddrFromSlice(base) // 4 or 16 bytes
	return addr
}

// number returns the number of an address of the range.
func (c *clusterIPs) number(ip net.IP) (uint64, bool) {
	addr, ok := netip.AddrFromSlice(ip)
	if addr = addr.Unmap(); !ok || !c.prefix.Contains(addr) {
		return 0, false
	}
	base, of := c.prefix.Addr().As16(), addr.As16()
	n := binary.BigEndian.Uint64(of[8:]) - binary.BigEndian.Uint64(base[8:]) - 1
	return n, n < c.size
}

// Allocate implements ipallocator.Interface.
func (c *clusterIPs) Allocate(ip net.IP) error {
	n, ok := c.number(ip)
	if !ok {
		return ipallocator.ErrMismatchedNetwork
	}
	if c.dryRun {
		if c.has(n) {
			return ipallocator.ErrAllocated
		}
		return nil
	}
	err := c.pool.reserve(c.format(n))
	if errors.Is(err, errTaken) {
		return ipallocator.ErrAllocated
	}
	return err
}

// AllocateNext implements ipallocator.Interface.
func (c *clusterIPs) AllocateNext() (net.IP, error) {
	n, err := c.next(c.dryRun)
	if errors.Is(err, errFull) {
		return nil, ipallocator.ErrFull
	}
	return c.at(n).AsSlice(), err
}

// Release implements ipallocator.Interface. The addresses of a Service that is gone are free without it.
func (c *clusterIPs) Release(ip net.IP) error {
	if n, ok := c.number(ip); ok && !c.dryRun {
		c.pool.release(c.format(n))
	}
	return nil
}

// ForEach implements ipallocator.Interface. The registry of services does not call it.
func (*clusterIPs) ForEach(func(net.IP)) {}

// CIDR implements ipallocator.Interface.
func (c *clusterIPs) CIDR() net.IPNet {
	addr := c.prefix.Addr()
	return net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(c.prefix.Bits(), addr.BitLen())}
}

// IPFamily implements ipallocator.Interface.
func (c *clusterIPs) IPFamily() core.IPFamily {
	if c.prefix.Addr().Is4() {
		return core.IPv4Protocol
	}
	return core.IPv6Protocol
}

// Has implements ipallocator.Interface.
func (c *clusterIPs) Has(ip net.IP) bool {
	n, ok := c.number(ip)
	return ok && c.has(n)
}

// Destroy implements ipallocator.Interface.
func (*clusterIPs) Destroy() {}

// EnableMetrics implements ipallocator.Interface. There are none.
func (*clusterIPs) EnableMetrics() {}

// DryRun implements ipallocator.Interface.
func (c *clusterIPs) DryRun() ipallocator.Interface {
	dry := *c
	dry.dryRun = true
	return &dry
}
