package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiserver "k8s.io/apiserver/pkg/admission"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// newPlugins returns the plugins of a chain, in the order of kube-apiserver.
func (c *Chain) newPlugins(now *catalog.Snapshot) []*plugin {
	all := slices.Concat(c.builtin(), policies(), []*plugin{quotas()})
	for _, p := range all {
		if p.kind.Resource != "" {
			p.cache = now.Caches[now.Registry.Lookup(p.kind.Group, p.kind.Version, p.kind.Resource)].Cache
		}
	}
	return all
}

// builtin returns the plugins of Kubernetes' own repository.
func (c *Chain) builtin() []*plugin {
	return []*plugin{
		{name: "LimitRanger", kind: corev1.SchemeGroupVersion.WithResource("limitranges"), inside: true,
			of: func(ref resource.Ref) bool {
				return isCore(ref, "pods", "", "resize") || isCore(ref, "persistentvolumeclaims", "")
			},
			make: made(kinds.NewLimitRanger)},
		{name: "ServiceAccount", make: made(c.newServiceAccount),
			of: func(ref resource.Ref) bool { return isCore(ref, "pods", "", "ephemeralcontainers") }},
		{name: "Priority", make: made(newPriority),
			of: func(ref resource.Ref) bool { return isCore(ref, "pods", "") || isPriorityClass(ref) }},
		{name: "RuntimeClass", make: made(newRuntimeClass),
			of: func(ref resource.Ref) bool { return isCore(ref, "pods", "") }},
	}
}

// policies returns the plugins of policies and webhooks.
func policies() []*plugin {
	return []*plugin{
		{name: mutatingpolicy.PluginName, kind: group.WithResource("mutatingadmissionpolicies"),
			make: func() (apiserver.Interface, error) { return mutatingpolicy.NewPlugin(nil) }},
		{name: mutatingwebhook.PluginName, kind: group.WithResource("mutatingwebhookconfigurations"),
			make: func() (apiserver.Interface, error) { return mutatingwebhook.NewMutatingWebhook(nil) }},
		{name: validatingpolicy.PluginName, kind: group.WithResource("validatingadmissionpolicies"),
			make: func() (apiserver.Interface, error) { return validatingpolicy.NewPlugin(nil) }},
		{name: validatingwebhook.PluginName, kind: group.WithResource("validatingwebhookconfigurations"),
			make: func() (apiserver.Interface, error) { return validatingwebhook.NewValidatingAdmissionWebhook(nil) }},
	}
}

// made returns a constructor of a builtin.
func made(plugin func() (apiserver.Interface, error)) func() (apiserver.Interface, error) {
	return func() (apiserver.Interface, error) {
		handler, err := plugin()
		return builtin{handler}, err
	}
}

func newPriority() (apiserver.Interface, error)     { return kinds.NewPriority(), nil }
func newRuntimeClass() (apiserver.Interface, error) { return kinds.NewRuntimeClass(), nil }

// newServiceAccount returns the plugin of ServiceAccounts. Without kube-controller-manager no namespace has one by itself: then a Pod may do without.
func (c *Chain) newServiceAccount() (apiserver.Interface, error) {
	if c.Controlled {
		return kinds.NewServiceAccount(nil), nil
	}
	return kinds.NewServiceAccount(c.own.hasServiceAccount), nil
}

// isCore reports whether a write is to one of some subresources (empty: the object itself) of a kind of the core group.
func isCore(ref resource.Ref, plural string, subresources ...string) bool {
	return ref.Resource.Plural == plural && ref.Resource.Group == "" && slices.Contains(subresources, ref.Subresource)
}

func isPriorityClass(ref resource.Ref) bool {
	return ref.Resource.Plural == "priorityclasses" && ref.Resource.Group == "scheduling.k8s.io"
}
