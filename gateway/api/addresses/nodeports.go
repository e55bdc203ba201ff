package addresses

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
)

// nodePorts is the portallocator.Interface of a range.
type nodePorts struct {
	addressRange
	ports net.PortRange
}

func newNodePorts(ports net.PortRange, p *pool) *nodePorts {
	return &nodePorts{newAddressRange(p, uint64(ports.Size), 32, 128, func(n uint64) string { return strconv.Itoa(ports.Base + int(n)) }), ports} //nolint:gosec // a valid range
}

// Allocate implements portallocator.Interface.
func (n *nodePorts) Allocate(port int) error {
	if !n.ports.Contains(port) {
		return &portallocator.ErrNotInRange{ValidPorts: n.ports.String()}
	}
	err := n.pool.reserve(strconv.Itoa(port))
	if errors.Is(err, errTaken) {
		return portallocator.ErrAllocated
	}
	return err
}

// AllocateNext implements portallocator.Interface.
func (n *nodePorts) AllocateNext() (int, error) {
	next, err := n.next(false) // the registry of services chooses ports in a dry run
	if errors.Is(err, errFull) {
		return 0, portallocator.ErrFull
	}
	return n.ports.Base + int(next), err //nolint:gosec // a valid range
}

// Release implements portallocator.Interface. The ports of a Service that is gone are free without it.
func (n *nodePorts) Release(port int) error {
	n.pool.release(strconv.Itoa(port))
	return nil
}

// ForEach implements portallocator.Interface. The registry of services does not call it.
func (*nodePorts) ForEach(func(int)) {}

// Has implements portallocator.Interface.
func (n *nodePorts) Has(port int) bool {
	return n.ports.Contains(port) && n.has(uint64(port-n.ports.Base)) //nolint:gosec // in the range
}

// Destroy implements portallocator.Interface.
func (*nodePorts) Destroy() {}

// EnableMetrics implements portallocator.Interface. There are none.
func (*nodePorts) EnableMetrics() {}
