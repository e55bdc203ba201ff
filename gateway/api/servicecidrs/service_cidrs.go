package servicecidrs

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/gateway/api/addresses"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

const (
	// ofGateway is the name of the ServiceCIDR of the gateway's own range, as in a cluster.
	ofGateway = "kubernetes"
	// finalizer keeps a ServiceCIDR while Services have addresses of it, as that of kube-controller-manager does.
	finalizer = "networking.k8s.io/service-cidr-finalizer"
	// grace is how long a ServiceCIDR stays at least after its deletion was requested, so that every gateway knows that before the last one is asked whether
	// it has allocated an address of it.
	grace = 10 * time.Second
)

// syncServiceCIDRs creates the ServiceCIDR of the gateway's range, and does for all of them what kube-controller-manager does, unless that is there: it keeps
// the finalizer and the condition Ready. It returns the time after which it wants to be called again.
func (c *controller) syncServiceCIDRs(ctx context.Context) (again time.Duration, err error) {
	list, err := c.serviceCIDRs.Cache.List(ctx, watchcache.ListQuery{})
	if err != nil {
		return 0, err
	}
	all := addresses.ServiceCIDRs(list)
	deleting := make(map[types.UID]time.Time)
	var failed []error
	if !slices.ContainsFunc(all, func(s addresses.ServiceCIDR) bool { return s.Name == ofGateway }) {
		failed = append(failed, c.createOwn(ctx))
	}
	for i := range all {
		s := &all[i]
		switch {
		case s.DeletionTimestamp == nil:
			failed = append(failed, c.keep(ctx, s))
		case c.store.Collect:
			since, ok := c.deleting[s.UID]
			if !ok {
				since = time.Now()
			}
			deleting[s.UID] = since
			wait, err := c.end(ctx, s, all, since)
			failed = append(failed, err)
			if wait > 0 && (again == 0 || wait < again) {
				again = wait
			}
		}
	}
	c.deleting = deleting
	return again, errors.Join(failed...)
}

// networks returns the networks of the gateway's own range, as a ServiceCIDR has them.
func (c *controller) networks() (out []string) {
	for _, network := range c.store.Addresses.Ranges() {
		out = append(out, network.String())
	}
	return out
}

// createOwn creates the ServiceCIDR of the gateway's range. It is no error that there is one.
func (c *controller) createOwn(ctx context.Context) error {
	return c.serviceCIDRs.Create(ctx, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: ofGateway}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: c.networks()}})
}

// keep adds what a ServiceCIDR lacks: the finalizer, and the condition Ready. That of the gateway's range gets the condition from the gateway also if there is a
// kube-controller-manager, and a network of the second family.
func (c *controller) keep(ctx context.Context, s *addresses.ServiceCIDR) error {
	own := c.networks()
	if s.Name == ofGateway && len(own) == 2 && slices.Equal(s.Spec.CIDRs, own[:1]) {
		s.Spec.CIDRs = own
		return c.serviceCIDRs.Update(ctx, &s.ServiceCIDR, "")
	}
	same := slices.Equal(s.Spec.CIDRs, own)
	if s.Name == ofGateway && !same && !c.mismatch {
		c.mismatch = true
		c.store.Logger.Warn("the ServiceCIDR of the gateways has another range than this gateway, which allocates addresses of both: delete the ServiceCIDR, and it is created anew",
			"serviceCIDR", ofGateway, "has", s.Spec.CIDRs, "range", own)
	}
	if c.store.Collect && !slices.Contains(s.Finalizers, finalizer) {
		s.Finalizers = append(s.Finalizers, finalizer)
		return c.serviceCIDRs.Update(ctx, &s.ServiceCIDR, "")
	}
	condition := meta.FindStatusCondition(s.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	switch {
	case c.store.Collect && (condition == nil || condition.Status != metav1.ConditionTrue):
	case s.Name == ofGateway && same && (condition == nil || condition.Status == metav1.ConditionUnknown):
	default:
		return nil
	}
	return c.setReady(ctx, s, metav1.Condition{Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready"})
}

// end removes the finalizer of a ServiceCIDR that is being deleted, if no Service has an address of this one alone; otherwise its condition says that
// there are such addresses. It returns the time after which it wants to be called again.
func (c *controller) end(ctx context.Context, s *addresses.ServiceCIDR, all []addresses.ServiceCIDR, since time.Time) (again time.Duration, err error) {
	if !slices.Contains(s.Finalizers, finalizer) {
		return 0, nil
	}
	newest, err := c.services.Newest(ctx)
	if err != nil {
		return 0, err
	}
	holders, err := c.holders(ctx, newest)
	if err != nil {
		return 0, err
	}
	for address := range holders {
		if ip, err := netip.ParseAddr(address); err == nil && onlyIn(s, all, ip) {
			return 0, c.setReady(ctx, s, metav1.Condition{Status: metav1.ConditionFalse, Reason: networkingv1.ServiceCIDRReasonTerminating,
				Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"})
		}
	}
	if wait := grace - time.Since(since); wait > 0 {
		return wait, nil
	}
	s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == finalizer })
	return 0, c.serviceCIDRs.Update(ctx, &s.ServiceCIDR, "")
}

// onlyIn reports whether an address is in a ServiceCIDR, and in no other one that stays.
func onlyIn(s *addresses.ServiceCIDR, all []addresses.ServiceCIDR, address netip.Addr) bool {
	return s.Contains(address) && !slices.ContainsFunc(all, func(other addresses.ServiceCIDR) bool {
		return other.DeletionTimestamp == nil && other.Contains(address)
	})
}

// setReady sets the condition Ready, unless it is the same.
func (c *controller) setReady(ctx context.Context, s *addresses.ServiceCIDR, condition metav1.Condition) error {
	condition.Type = networkingv1.ServiceCIDRConditionReady
	if now := meta.FindStatusCondition(s.Status.Conditions, condition.Type); now != nil &&
		now.Status == condition.Status && now.Reason == condition.Reason && now.Message == condition.Message {
		return nil
	}
	meta.SetStatusCondition(&s.Status.Conditions, condition)
	return c.serviceCIDRs.Update(ctx, &s.ServiceCIDR, resource.StatusSubresource)
}
