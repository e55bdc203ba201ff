package informer

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/informers/admissionregistration"
	informersv1 "k8s.io/client-go/informers/admissionregistration/v1"
	listersv1 "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
)

// Admissionregistration implements informers.SharedInformerFactory.
func (f *Factory) Admissionregistration() admissionregistration.Interface {
	return configurations{factory: f}
}

var group = admissionregistrationv1.SchemeGroupVersion

// configurations are the informers of the kinds that configure plugins.
type configurations struct {
	admissionregistration.Interface
	factory *Factory
}

func (c configurations) V1() informersv1.Interface { return configurationsV1{factory: c.factory} }

type configurationsV1 struct {
	informersv1.Interface
	factory *Factory
}

func (c configurationsV1) MutatingAdmissionPolicies() informersv1.TypedMutatingAdmissionPolicyInformer {
	made := c.factory.informer(group, "mutatingadmissionpolicies", &admissionregistrationv1.MutatingAdmissionPolicy{})
	return informerOf[informersv1.MutatingAdmissionPolicyIndexInformer, listersv1.MutatingAdmissionPolicyLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.MutatingAdmissionPolicy](made), listersv1.NewMutatingAdmissionPolicyLister(made.GetIndexer())}
}

func (c configurationsV1) MutatingAdmissionPolicyBindings() informersv1.TypedMutatingAdmissionPolicyBindingInformer {
	made := c.factory.informer(group, "mutatingadmissionpolicybindings", &admissionregistrationv1.MutatingAdmissionPolicyBinding{})
	return informerOf[informersv1.MutatingAdmissionPolicyBindingIndexInformer, listersv1.MutatingAdmissionPolicyBindingLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.MutatingAdmissionPolicyBinding](made), listersv1.NewMutatingAdmissionPolicyBindingLister(made.GetIndexer())}
}

func (c configurationsV1) ValidatingAdmissionPolicies() informersv1.TypedValidatingAdmissionPolicyInformer {
	made := c.factory.informer(group, "validatingadmissionpolicies", &admissionregistrationv1.ValidatingAdmissionPolicy{})
	return informerOf[informersv1.ValidatingAdmissionPolicyIndexInformer, listersv1.ValidatingAdmissionPolicyLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.ValidatingAdmissionPolicy](made), listersv1.NewValidatingAdmissionPolicyLister(made.GetIndexer())}
}

func (c configurationsV1) ValidatingAdmissionPolicyBindings() informersv1.TypedValidatingAdmissionPolicyBindingInformer {
	made := c.factory.informer(group, "validatingadmissionpolicybindings", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
	return informerOf[informersv1.ValidatingAdmissionPolicyBindingIndexInformer, listersv1.ValidatingAdmissionPolicyBindingLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](made), listersv1.NewValidatingAdmissionPolicyBindingLister(made.GetIndexer())}
}

func (c configurationsV1) MutatingWebhookConfigurations() informersv1.TypedMutatingWebhookConfigurationInformer {
	made := c.factory.informer(group, "mutatingwebhookconfigurations", &admissionregistrationv1.MutatingWebhookConfiguration{})
	return informerOf[informersv1.MutatingWebhookConfigurationIndexInformer, listersv1.MutatingWebhookConfigurationLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.MutatingWebhookConfiguration](made), listersv1.NewMutatingWebhookConfigurationLister(made.GetIndexer())}
}

func (c configurationsV1) ValidatingWebhookConfigurations() informersv1.TypedValidatingWebhookConfigurationInformer {
	made := c.factory.informer(group, "validatingwebhookconfigurations", &admissionregistrationv1.ValidatingWebhookConfiguration{})
	return informerOf[informersv1.ValidatingWebhookConfigurationIndexInformer, listersv1.ValidatingWebhookConfigurationLister]{
		made, cache.NewTypedSharedIndexInformer[*admissionregistrationv1.ValidatingWebhookConfiguration](made), listersv1.NewValidatingWebhookConfigurationLister(made.GetIndexer())}
}
