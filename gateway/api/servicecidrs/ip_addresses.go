package servicecidrs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/addresses"
	"revtail/gateway/api/reconcile"
	"revtail/gateway/api/storage"
	"revtail/gateway/watchcache"
)

// ipAddress is an IPAddress with its parent.
type ipAddress struct {
	networkingv1.IPAddress
	parent service // zero: it is no Service
}

// service names a Service.
type service struct{ namespace, name string }

// decode returns an IPAddress in the cache; nil: another program has stored what is none.
func decode(o *watchcache.Object) *ipAddress {
	out := &ipAddress{}
	if !o.Shown() || json.Unmarshal(o.JSON, &out.IPAddress) != nil {
		return nil
	}
	if ref := out.Spec.ParentRef; ref != nil && ref.Group == "" && ref.Resource == "services" {
		out.parent = service{ref.Namespace, ref.Name}
	}
	return out
}

// isOfService reports whether the allocator of cluster IPs manages the IPAddress.
func (a *ipAddress) isOfService() bool {
	return a.Labels[networkingv1.LabelManagedBy] == addresses.ManagedBy
}

// isFor reports whether the IPAddress is what one of the Services that have the address needs.
func (a *ipAddress) isFor(of []service) bool {
	return slices.Contains(of, a.parent) && a.isOfService() && a.Labels[networkingv1.LabelIPAddressFamily] == family(a.Name)
}

// family returns the IP family of an address.
func family(address string) string {
	if strings.Contains(address, ":") {
		return string(corev1.IPv6Protocol)
	}
	return string(corev1.IPv4Protocol)
}

// syncIPAddresses creates the IPAddresses that are missing, replaces those that name another parent than the Service that has the address, and deletes those of
// no Service. The Services are read in a state that is not older than that of the IPAddresses, so one that another replica has created for a new
// Service is not deleted.
func (c *controller) syncIPAddresses(ctx context.Context) error {
	list, err := c.ipAddresses.Cache.List(ctx, watchcache.ListQuery{})
	if err != nil {
		return err
	}
	holders, err := c.holders(ctx, list.Revision)
	if err != nil {
		return err
	}
	var failed []error
	for o, stored := range c.stored.All(list, decode) {
		of, ok := holders[o.Name()]
		switch {
		case stored == nil, ok && stored.isFor(of):
			delete(holders, o.Name())
		case ok, stored.isOfService():
			failed = append(failed, c.ipAddresses.Delete(ctx, stored))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(holders)) {
		failed = append(failed, create(ctx, c.ipAddresses, address, holders[address][0]))
	}
	return errors.Join(failed...)
}

// holders returns the Services that have each cluster IP, as of a revision or later. Only Services that are older than the gateway's allocator share one.
func (c *controller) holders(ctx context.Context, atLeast etcdstore.Revision) (map[string][]service, error) {
	list, err := c.services.List(ctx, watchcache.ListQuery{AtLeast: atLeast})
	if err != nil {
		return nil, err
	}
	out := make(map[string][]service)
	for o, ips := range c.clusterIPs.All(list, addresses.ClusterIPs) {
		for _, ip := range ips {
			out[ip] = append(out[ip], service{o.Namespace(), o.Name()})
		}
	}
	return out, nil
}

// Creator returns the function that creates an IPAddress.
func Creator(store *storage.Store) addresses.CreateIPAddress {
	return func(ctx context.Context, address, namespace, name string) error {
		return create(ctx, ipAddresses(store), address, service{namespace, name})
	}
}

// create creates the IPAddress of a Service. It is no error that there is one.
func create(ctx context.Context, objects reconcile.Objects, address string, of service) error {
	return objects.Create(ctx, &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: address, Labels: map[string]string{networkingv1.LabelIPAddressFamily: family(address), networkingv1.LabelManagedBy: addresses.ManagedBy}},
		Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: of.namespace, Name: of.name}},
	})
}
