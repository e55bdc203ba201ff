package config

import (
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/net"
)

// ClusterIPRanges returns the networks of --service-cluster-ip-range; nil: there are none.
func (c Config) ClusterIPRanges() ([]netip.Prefix, error) {
	const want = "want a network, as 10.96.0.0/16, or one of IPv4 and one of IPv6, comma separated"
	var ranges []netip.Prefix
	for _, text := range c.ServiceClusterIPRange {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("--service-cluster-ip-range %s: %s", text, want)
		}
		switch bits := prefix.Addr().BitLen() - prefix.Bits(); {
		case bits < 2:
			return nil, fmt.Errorf("--service-cluster-ip-range %s: it has no address for a Service: want /30 or more for IPv4, and /126 for IPv6", text)
		case bits > 64:
			return nil, fmt.Errorf("--service-cluster-ip-range %s: want /64 or less for IPv6", text)
		}
		ranges = append(ranges, prefix.Masked())
	}
	if len(ranges) > 2 || len(ranges) == 2 && ranges[0].Addr().Is4() == ranges[1].Addr().Is4() {
		return nil, errors.New("--service-cluster-ip-range: " + want)
	}
	return ranges, nil
}

// NodePorts returns the ports of --service-node-port-range.
func (c Config) NodePorts() (net.PortRange, error) {
	ports, err := net.ParsePortRange(c.ServiceNodePortRange)
	if err != nil || ports.Base == 0 || ports.Size == 0 {
		return net.PortRange{}, fmt.Errorf("--service-node-port-range %s: want the first and the last port, as %s", c.ServiceNodePortRange, Default().ServiceNodePortRange)
	}
	return *ports, nil
}

func (c Config) validateServiceAddresses() error {
	_, err := c.ClusterIPRanges()
	_, failed := c.NodePorts()
	return errors.Join(err, failed)
}
