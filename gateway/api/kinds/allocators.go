package kinds

import (
	"errors"
	"net"
	"net/netip"
	"strconv"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
)

// The errors of Addresses.
var (
	ErrAddressTaken  = errors.New("another Service has the address, or is getting it")
	ErrAddressNotIn  = errors.New("the address is not in the range")
	ErrNoMoreAddress = errors.New("all addresses of the range are taken")
)

// Addresses is a range of cluster IPs or of node ports. An address is an IP or a decimal number. One goroutine at a time uses it.
type Addresses interface {
	// Reserve reserves an address until Release: ErrAddressTaken, ErrAddressNotIn, or another error.
	Reserve(address string) error
	// Next reserves an address that it chooses, or none in a dry run: ErrNoMoreAddress, or another error.
	Next(dryRun bool) (string, error)
	// Taken reports whether a Service has an address: ErrAddressTaken, ErrAddressNotIn, or nil.
	Taken(address string) error
	// Release ends the reservation of an address, if there is one.
	Release(address string)
}

// ClusterIPs are the cluster IPs of a network.
type ClusterIPs struct {
	Addresses
	Network netip.Prefix
}

// NodePorts are the node ports of a range.
type NodePorts struct {
	Addresses
	Range utilnet.PortRange
}

// ipAllocator is the ipallocator.Interface of cluster IPs.
type ipAllocator struct {
	ClusterIPs
	dryRun bool
}

// toIPError returns the error of Addresses in the words of ipallocator. Kubernetes says the same of all IPs outside, with one range or several.
func toIPError(err error) error {
	switch {
	case errors.Is(err, ErrAddressTaken):
		return ipallocator.ErrAllocated
	case errors.Is(err, ErrAddressNotIn):
		return ipallocator.ErrMismatchedNetwork
	case errors.Is(err, ErrNoMoreAddress):
		return ipallocator.ErrFull
	}
	return err
}

// Allocate implements ipallocator.Interface.
func (a *ipAllocator) Allocate(ip net.IP) error {
	if a.dryRun {
		return toIPError(a.Taken(ip.String()))
	}
	return toIPError(a.Reserve(ip.String()))
}

// AllocateNext implements ipallocator.Interface.
func (a *ipAllocator) AllocateNext() (net.IP, error) {
	address, err := a.Next(a.dryRun)
	return net.ParseIP(address), toIPError(err)
}

// Release implements ipallocator.Interface. The addresses of a Service that is gone are free without it.
func (a *ipAllocator) Release(ip net.IP) error {
	if !a.dryRun {
		a.Addresses.Release(ip.String())
	}
	return nil
}

// ForEach implements ipallocator.Interface. The registry of services does not call it.
func (*ipAllocator) ForEach(func(net.IP)) {}

// CIDR implements ipallocator.Interface.
func (a *ipAllocator) CIDR() net.IPNet {
	addr := a.Network.Addr()
	return net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(a.Network.Bits(), addr.BitLen())}
}

// IPFamily implements ipallocator.Interface.
func (a *ipAllocator) IPFamily() core.IPFamily { return familyOf(a.Network.Addr().String()) }

// Has implements ipallocator.Interface.
func (a *ipAllocator) Has(ip net.IP) bool { return errors.Is(a.Taken(ip.String()), ErrAddressTaken) }

// Destroy implements ipallocator.Interface.
func (*ipAllocator) Destroy() {}

// EnableMetrics implements ipallocator.Interface. There are none.
func (*ipAllocator) EnableMetrics() {}

// DryRun implements ipallocator.Interface.
func (a *ipAllocator) DryRun() ipallocator.Interface { return &ipAllocator{a.ClusterIPs, true} }

// portAllocator is the portallocator.Interface of node ports. The registry of services chooses ports itself in a dry run.
type portAllocator struct{ NodePorts }

func (a portAllocator) toError(err error) error {
	switch {
	case errors.Is(err, ErrAddressTaken):
		return portallocator.ErrAllocated
	case errors.Is(err, ErrAddressNotIn):
		return &portallocator.ErrNotInRange{ValidPorts: a.Range.String()}
	case errors.Is(err, ErrNoMoreAddress):
		return portallocator.ErrFull
	}
	return err
}

// Allocate implements portallocator.Interface.
func (a portAllocator) Allocate(port int) error { return a.toError(a.Reserve(strconv.Itoa(port))) }

// AllocateNext implements portallocator.Interface.
func (a portAllocator) AllocateNext() (int, error) {
	address, err := a.Next(false)
	if err != nil {
		return 0, a.toError(err)
	}
	return strconv.Atoi(address)
}

// Release implements portallocator.Interface. The ports of a Service that is gone are free without it.
func (a portAllocator) Release(port int) error {
	a.Addresses.Release(strconv.Itoa(port))
	return nil
}

// ForEach implements portallocator.Interface. The registry of services does not call it.
func (portAllocator) ForEach(func(int)) {}

// Has implements portallocator.Interface.
func (a portAllocator) Has(port int) bool {
	return errors.Is(a.Taken(strconv.Itoa(port)), ErrAddressTaken)
}

// Destroy implements portallocator.Interface.
func (portAllocator) Destroy() {}

// EnableMetrics implements portallocator.Interface. There are none.
func (portAllocator) EnableMetrics() {}
