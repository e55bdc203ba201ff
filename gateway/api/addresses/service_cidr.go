package addresses

import (
	"encoding/json"
	"net/netip"

	"k8s.io/apimachinery/pkg/api/meta"

	networkingv1 "k8s.io/api/networking/v1"

	"revtail/gateway/watchcache"
)

// ServiceCIDR is a ServiceCIDR with its networks.
type ServiceCIDR struct {
	networkingv1.ServiceCIDR
	Networks []netip.Prefix
	Ready    bool // addresses of it are allocated: it is not being deleted, and no controller says that it is not ready
}

// DecodeServiceCIDR returns a ServiceCIDR in a cache. One that another program has stored and that is none has no networks.
func DecodeServiceCIDR(o *watchcache.Object) (out ServiceCIDR) {
	if !o.Shown() || json.Unmarshal(o.JSON, &out.ServiceCIDR) != nil {
		return ServiceCIDR{}
	}
	for _, text := range out.Spec.CIDRs {
		if network, err := netip.ParsePrefix(text); err == nil {
			out.Networks = append(out.Networks, network.Masked())
		}
	}
	condition := meta.FindStatusCondition(out.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	out.Ready = out.DeletionTimestamp == nil && (condition == nil || condition.Status == "True")
	return out
}

// Contains reports whether an address is in a network of the ServiceCIDR.
func (s *ServiceCIDR) Contains(address netip.Addr) bool {
	for _, network := range s.Networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}
