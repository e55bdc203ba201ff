package kinds

import (
	"cmp"
	"context"
	"reflect"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// The admission plugins of Kubernetes' own repository. They read and change objects that Internal returns.

// NewLimitRanger returns the plugin of LimitRanges.
func NewLimitRanger() (admission.Interface, error) { return limitranger.NewLimitRanger(nil) }

// NewPriority returns the plugin of PriorityClasses.
func NewPriority() admission.Interface { return priority.NewPlugin() }

// NewRuntimeClass returns the plugin of RuntimeClasses.
func NewRuntimeClass() admission.Interface { return runtimeclass.NewRuntimeClass() }

// NewServiceAccount returns the plugin of ServiceAccounts. It leaves a Pod alone whose ServiceAccount does not exist; exists nil: it refuses the Pod.
func NewServiceAccount(exists func(ctx context.Context, namespace, name string) bool) admission.Interface {
	plugin := serviceaccount.NewServiceAccount()
	if exists == nil {
		return plugin
	}
	return lenient{plugin, exists}
}

// lenient is the plugin of ServiceAccounts for Pods whose ServiceAccount exists.
type lenient struct {
	*serviceaccount.Plugin
	exists func(ctx context.Context, namespace, name string) bool
}

// Admit implements admission.MutationInterface.
func (l lenient) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() != admission.Create || !l.decides(ctx, a) {
		return nil
	}
	return l.Plugin.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (l lenient) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*core.Pod)
	if !ok || pod.Spec.ServiceAccountName == "" || a.GetOperation() == admission.Update && a.GetSubresource() == "" || !l.decides(ctx, a) {
		return nil // Admit names the default one if that exists
	}
	return l.Plugin.Validate(ctx, a, o)
}

func (l lenient) decides(ctx context.Context, a admission.Attributes) bool {
	pod, ok := a.GetObject().(*core.Pod)
	return ok && l.exists(ctx, a.GetNamespace(), cmp.Or(pod.Spec.ServiceAccountName, serviceaccount.DefaultServiceAccountName))
}

// SystemPriorityClass returns one of the PriorityClasses that every cluster has; nil: it is none.
func SystemPriorityClass(name string) *schedulingv1.PriorityClass {
	for _, class := range scheduling.SystemPriorityClasses() {
		if class.Name == name {
			legacyscheme.Scheme.Default(class)
			return class
		}
	}
	return nil
}

// QuotaConfiguration returns what knows how much of a quota an object uses.
func QuotaConfiguration(lists quota.ListerForResourceFunc, factory informers.SharedInformerFactory) (quota.Configuration, error) {
	return install.NewQuotaConfigurationForControllers(lists, factory)
}

// Internal returns an object of a built-in kind in the type that Kubernetes' plugins read; nil for nil. They may share memory.
func Internal(object runtime.Object) (runtime.Object, error) {
	if object == nil {
		return nil, nil
	}
	group := object.GetObjectKind().GroupVersionKind().Group
	return legacyscheme.Scheme.UnsafeConvertToVersion(object, schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal})
}

// SetInternal replaces an object of a built-in kind by one that Internal has returned.
func SetInternal(object, internal runtime.Object) error {
	kind := object.GetObjectKind().GroupVersionKind()
	typed, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(typed).Elem()) // of the same type
	object.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
