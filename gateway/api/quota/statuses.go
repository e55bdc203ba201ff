package quota

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/encoding/gotype"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/resource"
)

// Statuses writes the status of ResourceQuotas. It implements admission.Statuses.
type Statuses struct{ Store *storage.Store }

// UpdateStatus implements admission.Statuses. A quota that has changed since is a conflict.
func (s Statuses) UpdateStatus(ctx context.Context, quota *corev1.ResourceQuota) (*corev1.ResourceQuota, error) {
	t := quotas(s.Store.Catalog)
	t.Scope, t.Subresource = resource.Scope{Namespace: quota.Namespace, Name: quota.Name}, resource.StatusSubresource
	next, err := gotype.Encode(&quota.Status)
	if err != nil {
		return nil, err
	}
	wr := &storage.Request{Target: t, Options: storage.Options{Manager: "revtail"}}
	done, err := s.Store.Change(ctx, wr, func(old object.Object) (object.Object, error) {
		changed := object.New(object.WithMember(old.Copy().Object, resource.StatusSubresource, runtime.DeepCopyJSON(next)))
		changed.SetResourceVersion(quota.ResourceVersion)
		changed.SetUID(quota.UID)
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	updated := quota.DeepCopy()
	updated.ResourceVersion = strconv.FormatInt(int64(done.Revision()), 10)
	return updated, nil
}

// quotas returns the target of all ResourceQuotas.
func quotas(c *catalog.Catalog) catalog.Target {
	now := c.Current()
	res := now.Registry.Lookup("", "v1", "resourcequotas")
	return catalog.Target{Ref: resource.Ref{Resource: res}, Cache: now.Caches[res]}
}
