package object

import (
	"encoding/json"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/gotype"
	"revtail/encoding/jsontext"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// ToView returns the representation of an object at a URL.
func ToView(ref resource.Ref, object []byte) ([]byte, error) {
	if ref.Subresource != resource.ScaleSubresource {
		return object, nil
	}
	decoded, err := jsontext.Unmarshal(object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(scaleOf(New(decoded), ref.Resource))
}

// CopyView returns a deep copy of the representation of an object at a URL.
func CopyView(ref resource.Ref, d Object) (Object, error) {
	if ref.Subresource != resource.ScaleSubresource {
		return d.Copy(), nil
	}
	text, err := json.Marshal(scaleOf(d, ref.Resource))
	if err != nil {
		return Object{}, err
	}
	view, err := jsontext.Unmarshal(text)
	return New(view), err
}

// scaleOf returns the Scale of an object. The default of replicas is one, as in Kubernetes, and zero for custom resources.
func scaleOf(d Object, res *resource.Resource) autoscalingv1.Scale {
	replicas := func(path []string, unset int32) int32 {
		if n, ok, err := unstructured.NestedInt64(d.Object, path...); ok && err == nil {
			return int32(n)
		}
		return unset
	}
	unset := int32(0)
	if res.GoType != nil {
		unset = 1
	}
	return autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: resource.ScaleKind.Kind, APIVersion: resource.ScaleKind.APIVersion()},
		ObjectMeta: metav1.ObjectMeta{Name: d.GetName(), Namespace: d.GetNamespace(), UID: d.GetUID(), ResourceVersion: d.GetResourceVersion(),
			CreationTimestamp: d.GetCreationTimestamp()},
		Spec:   autoscalingv1.ScaleSpec{Replicas: replicas(res.Scale.SpecReplicas, unset)},
		Status: autoscalingv1.ScaleStatus{Replicas: replicas(res.Scale.StatusReplicas, 0), Selector: scaleSelector(d, res.Scale.Selector)},
	}
}

// scaleSelector returns the label selector at a path in the syntax of the query. The object has it as a string or a LabelSelector.
func scaleSelector(d Object, path []string) string {
	if len(path) == 0 {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(d.Object, path...)
	switch value := value.(type) {
	case string:
		return value
	case map[string]any:
		labels := &metav1.LabelSelector{}
		if gotype.Decode(value, labels) != nil {
			return ""
		}
		if selector, err := metav1.LabelSelectorAsSelector(labels); err == nil {
			return selector.String()
		}
	}
	return ""
}

// ApplyView returns an object with the changes that a client has made to its representation.
func ApplyView(ref resource.Ref, old, view Object) (Object, error) {
	switch {
	case ref.Subresource == resource.ScaleSubresource:
		next := old.Copy()
		if version := view.GetResourceVersion(); version != "" {
			next.SetResourceVersion(version)
		}
		next.CopyMetadata(view, "uid")
		return next, setReplicas(ref, next, view)
	case slices.Contains(ref.Resource.Whole, ref.Subresource):
		return view, nil
	case ref.Subresource == resource.StatusSubresource:
		next := old.ShallowCopy()
		copyOrDelete(next.Object, view.Object, "status")
		next.CopyMetadata(view, "uid", "resourceVersion", "managedFields")
		next.CopyMetadata(view, StatusMetadata(ref.Resource)...)
		return next, nil
	case ref.Resource.Status:
		copyOrDelete(view.Object, old.Object, "status")
	}
	if ref.IsNamespace() && ref.Subresource == "" {
		view.keepSpecFinalizers(old)
	}
	return view, nil
}

// SpecFinalizers returns the finalizers in the spec of a Namespace.
func (d Object) SpecFinalizers() []string {
	finalizers, _, _ := unstructured.NestedStringSlice(d.Object, "spec", "finalizers")
	return finalizers
}

// keepSpecFinalizers sets the finalizers in the spec of a Namespace to those that it had.
func (d Object) keepSpecFinalizers(old Object) {
	spec, _ := d.Object["spec"].(map[string]any)
	oldSpec, _ := old.Object["spec"].(map[string]any)
	if spec["finalizers"] == nil && oldSpec["finalizers"] == nil {
		return
	}
	spec = WithMember(spec, "finalizers", nil)
	copyOrDelete(spec, oldSpec, "finalizers")
	d.Object["spec"] = spec
}

// StatusMetadata returns the members of the metadata that a write to the status changes too: none for custom resources. Controllers of
// built-in kinds write, for example, the revision of a Deployment in this way.
func StatusMetadata(res *resource.Resource) []string {
	switch {
	case res.Schema != nil:
		return nil
	case res.Kind == "Deployment":
		return []string{"annotations", "finalizers", "ownerReferences"}
	case res.Kind == "Pod":
		return []string{"annotations", "finalizers", "labels"}
	}
	return []string{"annotations", "finalizers", "labels", "ownerReferences"}
}

// FromView converts a configuration that a client applies to the representation of an object to one for the object.
func FromView(ref resource.Ref, applied Object) (Object, error) {
	if ref.Subresource != resource.ScaleSubresource {
		return applied.Copy(), nil
	}
	out := Empty(ref.Resource)
	out.CopyMetadata(applied, "name", "namespace", "uid", "resourceVersion")
	if _, ok, _ := unstructured.NestedFieldNoCopy(applied.Object, "spec", "replicas"); !ok {
		return out, nil
	}
	return out, setReplicas(ref, out, applied)
}

// setReplicas sets the replicas of an object to those of a Scale, whose type has been checked.
func setReplicas(ref resource.Ref, d, scale Object) error {
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	switch {
	case err != nil:
		return CannotHandle(resource.ScaleKind, err)
	case replicas < 0 && !ref.Resource.IsCustom(): // the schema of a custom resource refuses them
		return apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind(resource.ScaleKind.Kind).GroupKind(), ref.Scope.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0")})
	}
	if err := unstructured.SetNestedField(d.Object, replicas, ref.Resource.Scale.SpecReplicas...); err != nil {
		return status.BadRequest("%s has no place for replicas: %v", ref.Scope.Name, err)
	}
	return nil
}
