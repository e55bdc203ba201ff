package kinds

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service"
)

// serviceStrategy is service.Strategy with what kube-apiserver does when it allocates cluster IPs and node ports, as far as it needs no
// range of them: clusterIP and clusterIPs follow each other, a service has IP families, and an update keeps what it leaves out. Where a gateway has
// ranges, ServiceAllocator has done so before.
type serviceStrategy struct {
	objectStrategy
	rest.DeclarativeValidationStrategy
}

func newServiceStrategy() serviceStrategy { return serviceStrategy{service.Strategy, service.Strategy} }

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s serviceStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	s.objectStrategy.PrepareForCreate(ctx, object)
	spec := &object.(*core.Service).Spec
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 { // a client that does not know clusterIPs
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	setFamilies(spec)
	dropTrafficPolicy(spec)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s serviceStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	next, before := &object.(*core.Service).Spec, &old.(*core.Service).Spec
	keepAllocated(next, before)
	s.objectStrategy.PrepareForUpdate(ctx, object, old)
	followClusterIP(next, before)
	if next.IPFamilyPolicy == nil && len(next.IPFamilies) == 0 && next.Type != core.ServiceTypeExternalName {
		next.IPFamilyPolicy, next.IPFamilies = before.IPFamilyPolicy, before.IPFamilies
	}
	setFamilies(next)
	dropTrafficPolicy(next)
}

// dropTrafficPolicy drops what an ExternalName has no use for. A kube-apiserver stores it, if the Service had another type before, and does not show it.
func dropTrafficPolicy(spec *core.ServiceSpec) {
	if spec.Type == core.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = nil
	}
}

// keepAllocated sets what a new service leaves out to what the old one has: cluster IPs, node ports and the port of health checks.
func keepAllocated(next, before *core.ServiceSpec) {
	if next.Type != core.ServiceTypeExternalName && before.Type != core.ServiceTypeExternalName {
		if next.ClusterIP == "" {
			next.ClusterIP = before.ClusterIP
		}
		if len(next.ClusterIPs) == 0 {
			next.ClusterIPs = before.ClusterIPs
		}
	}
	if hasNodePorts(next) && hasNodePorts(before) {
		keepNodePorts(next.Ports, before.Ports)
		if next.HealthCheckNodePort == 0 && next.ExternalTrafficPolicy == before.ExternalTrafficPolicy {
			next.HealthCheckNodePort = before.HealthCheckNodePort
		}
	}
}

func hasNodePorts(spec *core.ServiceSpec) bool {
	return spec.Type == core.ServiceTypeNodePort || spec.Type == core.ServiceTypeLoadBalancer
}

// keepNodePorts sets the node ports that are left out to those of the old ports of the same names, unless another port has them now.
func keepNodePorts(ports, before []core.ServicePort) {
	for i := range ports {
		at := slices.IndexFunc(before, func(b core.ServicePort) bool { return b.Name == ports[i].Name })
		if ports[i].NodePort != 0 || at < 0 {
			continue
		}
		kept := before[at].NodePort
		if !slices.ContainsFunc(ports, func(p core.ServicePort) bool { return p.NodePort == kept }) {
			ports[i].NodePort = kept
		}
	}
}

// followClusterIP changes clusterIPs with clusterIP, for clients that do not know clusterIPs.
func followClusterIP(next, before *core.ServiceSpec) {
	switch {
	case next.ClusterIP == before.ClusterIP || !slices.Equal(next.ClusterIPs, before.ClusterIPs):
	case next.ClusterIP == "":
		next.ClusterIPs = nil
	default:
		next.ClusterIPs = []string{next.ClusterIP}
	}
}

// setFamilies sets the IP families of a service that has none: that of its first cluster IP, or IPv4. A headless service without a
// selector has both families.
func setFamilies(spec *core.ServiceSpec) {
	if spec.Type == core.ServiceTypeExternalName {
		return
	}
	both := spec.ClusterIP == core.ClusterIPNone && len(spec.Selector) == 0 && spec.IPFamilyPolicy == nil && len(spec.IPFamilies) == 0
	switch {
	case both:
		spec.IPFamilyPolicy = new(core.IPFamilyPolicyRequireDualStack)
		spec.IPFamilies = []core.IPFamily{core.IPv4Protocol, core.IPv6Protocol}
		return
	case spec.IPFamilyPolicy == nil:
		spec.IPFamilyPolicy = new(core.IPFamilyPolicySingleStack)
	}
	if len(spec.IPFamilies) > 0 {
		return
	}
	spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
	if len(spec.ClusterIPs) > 0 {
		spec.IPFamilies[0] = familyOf(spec.ClusterIPs[0])
	}
}

// familyOf returns the family of an IP address, which may also be "None".
func familyOf(ip string) core.IPFamily {
	if strings.Contains(ip, ":") {
		return core.IPv6Protocol
	}
	return core.IPv4Protocol
}
