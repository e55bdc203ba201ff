package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"

	"revtail/gateway/api/informer"
	"revtail/gateway/resource"
)

// Statuses writes the status of ResourceQuotas.
type Statuses interface {
	// UpdateStatus replaces the status of a quota at its resourceVersion, and returns it with the new one.
	UpdateStatus(ctx context.Context, quota *corev1.ResourceQuota) (*corev1.ResourceQuota, error)
}

// quotas returns the plugin of ResourceQuotas. It is the last one: what it counts is not refused any more.
func quotas() *plugin {
	return &plugin{name: resourcequota.PluginName, kind: informer.ResourceQuotas, inside: true,
		of: func(ref resource.Ref) bool {
			return ref.Resource.Namespaced && ref.Resource.Mount == nil && (ref.Subresource == "" || isCore(ref, "pods", "resize") ||
				isCore(ref, "persistentvolumeclaims", resource.StatusSubresource))
		},
		make: func() (apiserver.Interface, error) {
			made, err := resourcequota.NewResourceQuota(nil, quotaWorkers)
			return quotaPlugin{made}, err
		}}
}

// quotaWorkers is how many namespaces are worked on at the same time, as in kube-apiserver.
const quotaWorkers = 5

// quotaPlugin is the plugin of ResourceQuotas. It tries again where a kube-apiserver answers 409 because others have charged a quota.
type quotaPlugin struct{ *resourcequota.QuotaAdmission }

// maxCharges bounds the attempts to charge a quota. Each is four of the plugin.
const maxCharges = 8

// Validate implements apiserver.ValidationInterface.
func (q quotaPlugin) Validate(ctx context.Context, a apiserver.Attributes, o apiserver.ObjectInterfaces) (err error) {
	for range maxCharges {
		err = q.QuotaAdmission.Validate(ctx, a, o)
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}
