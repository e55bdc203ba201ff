package addresses

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestAllocatedNetworks(t *testing.T) {
	t.Parallel()
	of := func(ready bool, networks ...string) (out ServiceCIDR) {
		for _, network := range networks {
			out.Networks = append(out.Networks, netip.MustParsePrefix(network))
		}
		out.Ready = ready
		return out
	}
	const given, more, six = "10.96.0.0/24", "10.97.0.0/24", "fd00::/112"
	for name, test := range map[string]struct {
		all  []ServiceCIDR
		want string
	}{
		"without ServiceCIDRs":             {nil, "[10.96.0.0/24]"},
		"with its own":                     {[]ServiceCIDR{of(true, given, six)}, "[10.96.0.0/24]"},
		"with more":                        {[]ServiceCIDR{of(true, more), of(true, given)}, "[10.96.0.0/24 10.97.0.0/24]"},
		"with more that is not ready":      {[]ServiceCIDR{of(false, more), of(true, given)}, "[10.96.0.0/24]"},
		"with its own that is not ready":   {[]ServiceCIDR{of(true, more), of(false, given)}, "[10.97.0.0/24]"},
		"with its own twice":               {[]ServiceCIDR{of(true, given), of(false, given)}, "[10.96.0.0/24]"},
		"with another option before":       {[]ServiceCIDR{of(true, more)}, "[10.96.0.0/24 10.97.0.0/24]"},
		"with more twice":                  {[]ServiceCIDR{of(true, more), of(true, more)}, "[10.96.0.0/24 10.97.0.0/24]"},
		"with a network without addresses": {[]ServiceCIDR{of(true, "10.98.0.0/31"), of(true, "10.98.0.1/32")}, "[10.96.0.0/24]"},
	} {
		if got := fmt.Sprint(allocated(netip.MustParsePrefix(given), test.all)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := fmt.Sprint(allocated(netip.MustParsePrefix(six), []ServiceCIDR{of(true, given, "fd01::/48"), of(true, "fd02::/64")})); got != "[fd00::/112 fd02::/64]" {
		t.Errorf("the networks of IPv6 are %s", got)
	}
}
