package gateway

import (
	"encoding/json"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// show is an object as a request sees it.
func (t target) show(object []byte) ([]byte, error) {
	if t.Subresource != resource.ScaleSubresource {
		return object, nil
	}
	decoded, err := jsontext.Unmarshal(object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(scaleOf(newDocument(decoded), t.Resource))
}

// scaleOf is the Scale of an object. Replicas that the object does not name are the one that Kubernetes takes for its own
// kinds, and none for a custom resource.
func scaleOf(d document, res *resource.Resource) autoscalingv1.Scale {
	replicas := func(path []string, otherwise int64) int32 {
		if n, ok, err := unstructured.NestedInt64(d.Object, path...); ok && err == nil {
			return int32(n)
		}
		return int32(otherwise)
	}
	unset := int64(0)
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

// scaleSelector is the label selector at a path, in the form of a query; the object has it so, or as a LabelSelector.
func scaleSelector(d document, path []string) string {
	if len(path) == 0 {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(d.Object, path...)
	switch value := value.(type) {
	case string:
		return value
	case map[string]any:
		labels := &metav1.LabelSelector{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(value, labels) != nil {
			return ""
		}
		if selector, err := metav1.LabelSelectorAsSelector(labels); err == nil {
			return selector.String()
		}
	}
	return ""
}

// embed is an object with what a request has made of what it saw of it.
func (t target) embed(old, shown document) (document, error) {
	switch {
	case t.Subresource == resource.ScaleSubresource:
		next := old.copy()
		if version := shown.GetResourceVersion(); version != "" {
			next.SetResourceVersion(version)
		}
		next.take(shown, "uid")
		return next, t.setReplicas(next, shown)
	case t.Subresource == resource.StatusSubresource:
		next := old.shallowCopy()
		keep(next.Object, shown.Object, "status")
		next.take(shown, "uid", "resourceVersion", "managedFields")
		next.take(shown, statusMetadata(t.Resource)...)
		return next, nil
	case t.Resource.Status:
		keep(shown.Object, old.Object, "status")
	}
	return shown, nil
}

// statusMetadata are the members of the metadata that are written along with the status. Of kinds that have a schema there are
// none; the controllers of the others write, for example, the revision of a Deployment so.
func statusMetadata(res *resource.Resource) []string {
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

// unshow is what a configuration that is applied to what a request sees says of the object itself.
func (t target) unshow(applied document) (document, error) {
	if t.Subresource != resource.ScaleSubresource {
		return applied.copy(), nil
	}
	out := emptyObject(t.Resource)
	out.take(applied, "name", "namespace", "uid", "resourceVersion")
	if _, ok, _ := unstructured.NestedFieldNoCopy(applied.Object, "spec", "replicas"); !ok {
		return out, nil
	}
	return out, t.setReplicas(out, applied)
}

// setReplicas sets the replicas of an object to those of a Scale; its type has been checked.
func (t target) setReplicas(d, scale document) error {
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	switch {
	case err != nil:
		return cannotHandle(resource.ScaleKind, err)
	case replicas < 0:
		return apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind(resource.ScaleKind.Kind).GroupKind(), t.Scope.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0")})
	}
	if err := unstructured.SetNestedField(d.Object, replicas, t.Resource.Scale.SpecReplicas...); err != nil {
		return badRequest("%s has no place for replicas: %v", t.Scope.Name, err)
	}
	return nil
}
