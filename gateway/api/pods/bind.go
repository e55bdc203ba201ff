package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Bind assigns the Pod of a target to the Node that a binding names, which need not exist. A Pod that is being deleted, is assigned, or has
// scheduling gates is a conflict.
func (p *Pods) Bind(ctx context.Context, t catalog.Target, binding *corev1.Binding, dryRun bool) error {
	if binding.Name != t.Scope.Name {
		return status.BadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return apierrors.NewInvalid(resource.Ref{Resource: resource.BindingKind}.GroupKind(), binding.Name, errs)
	}
	_, err := p.change(ctx, t, resource.BindingSubresource, dryRun, func(pod object.Object) error {
		if err := checkBinding(pod, binding); err != nil {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, binding.Name, err)
		}
		assign(pod, binding)
		return nil
	})
	return err
}

func validateBinding(binding *corev1.Binding) (errs field.ErrorList) {
	target := field.NewPath("target")
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		return append(errs, field.NotSupported(target.Child("kind"), kind, []string{"Node", "<empty>"}))
	}
	if binding.Target.Name == "" {
		return append(errs, field.Required(target.Child("name"), ""))
	}
	for _, message := range validation.NameIsDNSSubdomain(binding.Target.Name, false) {
		errs = append(errs, field.Invalid(target.Child("name"), binding.Target.Name, message))
	}
	return errs
}

// checkBinding returns why a Pod cannot be assigned now.
func checkBinding(pod object.Object, binding *corev1.Binding) error {
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	gates, _, _ := unstructured.NestedSlice(pod.Object, "spec", "schedulingGates")
	switch {
	case binding.UID != "" && binding.UID != pod.GetUID():
		return fmt.Errorf("the UID of the binding (%s) does not match the UID of the Pod (%s)", binding.UID, pod.GetUID())
	case binding.ResourceVersion != "" && binding.ResourceVersion != pod.GetResourceVersion():
		return fmt.Errorf("the resourceVersion of the binding (%s) does not match that of the Pod (%s)", binding.ResourceVersion, pod.GetResourceVersion())
	case pod.GetDeletionTimestamp() != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.GetName())
	case node != "":
		return fmt.Errorf("pod %s is already assigned to node %q", pod.GetName(), node)
	case len(gates) > 0:
		return fmt.Errorf("pod %s has non-empty .spec.schedulingGates", pod.GetName())
	}
	return nil
}

// assign assigns a Pod to the Node of a binding. The Pod gets the labels and annotations of the binding too.
func assign(pod object.Object, binding *corev1.Binding) {
	member(pod.Object, "spec")["nodeName"] = binding.Target.Name
	delete(member(pod.Object, "status"), "nominatedNodeName")
	for name, added := range map[string]map[string]string{"annotations": binding.Annotations, "labels": binding.Labels} {
		for key, value := range added {
			member(pod.Metadata(), name)[key] = value
		}
	}
	setCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled})
}
