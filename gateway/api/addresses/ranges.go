package addresses

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/util/net"

	"revtail/gateway/api/kinds"
)

// addressRange is the kinds.Addresses of a range, whose addresses have numbers from zero.
type addressRange struct {
	pool    *pool
	size    uint64
	dynamic uint64 // the first of those that are chosen before others: clients choose from the ones below, as in a cluster
	format  func(n uint64) string
	parse   func(address string) (n uint64, ok bool)
}

// dynamicPart returns the first number of the dynamic part of a range. The part below has a share of the addresses, and most at most.
func dynamicPart(size, share, most uint64) uint64 {
	const least = 16
	if size <= least {
		return 0
	}
	return min(max(size/share, least), most)
}

// maxIPs bounds the number of addresses of a network of IPv6.
const maxIPs = 1 << 62

// ipRange returns the range of a network: all its addresses but the first one, which is the network's, and for IPv4 the last one, which is for broadcasts.
func ipRange(network netip.Prefix, p *pool) *addressRange {
	base, size := network.Addr().As16(), uint64(maxIPs)
	if bits := network.Addr().BitLen() - network.Bits(); bits < 62 {
		size = 1 << bits
	}
	size--
	if network.Addr().Is4() {
		size--
	}
	low := binary.BigEndian.Uint64(base[8:]) + 1
	format := func(n uint64) string {
		ip := base
		binary.BigEndian.PutUint64(ip[8:], low+n)
		return netip.AddrFrom16(ip).Unmap().String()
	}
	parse := func(address string) (uint64, bool) {
		addr, err := netip.ParseAddr(address)
		if err != nil || !network.Contains(addr) {
			return 0, false
		}
		ip := addr.As16()
		return binary.BigEndian.Uint64(ip[8:]) - low, true
	}
	return &addressRange{p, size, dynamicPart(size, 16, 256), format, parse}
}

// nodePorts returns the range of ports.
func nodePorts(ports net.PortRange, p *pool) kinds.NodePorts {
	base, size := uint64(ports.Base), uint64(ports.Size) //nolint:gosec // ports
	format := func(n uint64) string { return strconv.FormatUint(base+n, 10) }
	parse := func(address string) (uint64, bool) {
		port, err := strconv.ParseUint(address, 10, 16)
		return port - base, err == nil
	}
	return kinds.NodePorts{Addresses: &addressRange{p, size, dynamicPart(size, 32, 128), format, parse}, Range: ports}
}

// check fails with kinds.ErrAddressNotIn for an address outside of the range.
func (r *addressRange) check(address string) error {
	if n, ok := r.parse(address); !ok || n >= r.size {
		return kinds.ErrAddressNotIn
	}
	return nil
}

// Reserve implements kinds.Addresses.
func (r *addressRange) Reserve(address string) error {
	if err := r.check(address); err != nil {
		return err
	}
	return r.pool.reserve(address)
}

// Taken implements kinds.Addresses.
func (r *addressRange) Taken(address string) error {
	if err := r.check(address); err != nil {
		return err
	}
	return r.pool.checkTaken(address)
}

// Release implements kinds.Addresses.
func (r *addressRange) Release(address string) { r.pool.release(address) }

// Next implements kinds.Addresses.
func (r *addressRange) Next(dryRun bool) (string, error) {
	taken, err := r.pool.taken()
	if err != nil {
		return "", r.pool.fail(err)
	}
	for n := range r.candidates {
		address := r.format(n)
		if taken[address] {
			continue
		}
		if dryRun {
			return address, nil
		}
		if err = r.pool.reserve(address); !errors.Is(err, kinds.ErrAddressTaken) {
			return address, err
		}
	}
	return "", kinds.ErrNoMoreAddress
}

// guesses is how many addresses Next tries before it looks at each one.
const guesses = 16

// candidates yields random numbers of the dynamic part, then all of it from a random one on, and then the others.
func (r *addressRange) candidates(yield func(uint64) bool) {
	size := r.size - r.dynamic
	for range guesses {
		if !yield(r.dynamic + rand.Uint64N(size)) { //nolint:gosec // no secret
			return
		}
	}
	first := rand.Uint64N(size) //nolint:gosec // no secret
	for i := range size {
		if !yield(r.dynamic + (first+i)%size) {
			return
		}
	}
	for n := range r.dynamic {
		if !yield(n) {
			return
		}
	}
}
