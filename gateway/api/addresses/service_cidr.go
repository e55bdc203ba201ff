package addresses

import (
	"encoding/json"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/watchcache"
)

// ServiceCIDR is a ServiceCIDR with its networks.
type ServiceCIDR struct {
	networkingv1.ServiceCIDR
	Networks []netip.Prefix
	Ready    bool // addresses of it are allocated: it is not being deleted, and no controller says that it is not ready
}

// ServiceCIDRs returns those in a list of a cache. What another program has stored and is none is left out.
func ServiceCIDRs(list *watchcache.List) (out []ServiceCIDR) {
	for o := range list.Objects {
		if one, ok := decodeServiceCIDR(o); ok {
			out = append(out, one)
		}
	}
	return out
}

func decodeServiceCIDR(o *watchcache.Object) (out ServiceCIDR, ok bool) {
	if !o.Shown() || json.Unmarshal(o.JSON, &out.ServiceCIDR) != nil {
		return out, false
	}
	for _, text := range out.Spec.CIDRs {
		if network, err := netip.ParsePrefix(text); err == nil {
			out.Networks = append(out.Networks, network.Masked())
		}
	}
	condition := meta.FindStatusCondition(out.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	out.Ready = out.DeletionTimestamp == nil && (condition == nil || condition.Status == metav1.ConditionTrue)
	return out, true
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
