package informer

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers/core"
	informerscorev1 "k8s.io/client-go/informers/core/v1"
	listerscorev1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Core implements informers.SharedInformerFactory.
func (f *Factory) Core() core.Interface { return coreGroup{factory: f} }

type coreGroup struct {
	core.Interface
	factory *Factory
}

func (g coreGroup) V1() informerscorev1.Interface { return coreVersion{factory: g.factory} }

type coreVersion struct {
	informerscorev1.Interface
	factory *Factory
}

func (v coreVersion) Namespaces() informerscorev1.TypedNamespaceInformer {
	made := v.factory.informer(corev1.SchemeGroupVersion, "namespaces", &corev1.Namespace{})
	return informerOf[informerscorev1.NamespaceIndexInformer, listerscorev1.NamespaceLister]{
		made, cache.NewTypedSharedIndexInformer[*corev1.Namespace](made), listerscorev1.NewNamespaceLister(made.GetIndexer())}
}

func (v coreVersion) LimitRanges() informerscorev1.TypedLimitRangeInformer {
	return listed[informerscorev1.LimitRangeIndexInformer](v.factory, corev1.SchemeGroupVersion.WithResource("limitranges"), &corev1.LimitRange{}, listerscorev1.NewLimitRangeLister)
}

func (v coreVersion) Pods() informerscorev1.TypedPodInformer {
	return listed[informerscorev1.PodIndexInformer](v.factory, corev1.SchemeGroupVersion.WithResource("pods"), &corev1.Pod{}, listerscorev1.NewPodLister)
}

func (v coreVersion) ResourceQuotas() informerscorev1.TypedResourceQuotaInformer {
	return listed[informerscorev1.ResourceQuotaIndexInformer](v.factory, ResourceQuotas, &corev1.ResourceQuota{}, listerscorev1.NewResourceQuotaLister)
}

func (v coreVersion) ServiceAccounts() informerscorev1.TypedServiceAccountInformer {
	return listed[informerscorev1.ServiceAccountIndexInformer](v.factory, ServiceAccounts, &corev1.ServiceAccount{}, listerscorev1.NewServiceAccountLister)
}
