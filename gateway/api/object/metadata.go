package object

import (
	"encoding/json"
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/names"
	kjson "sigs.k8s.io/json"

	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// TypedMetadata returns the metadata without managedFields, which package managedfields checks. An error says which field has the wrong
// type.
func (d Object) TypedMetadata() (*metav1.ObjectMeta, error) {
	metadata := maps.Clone(d.Metadata())
	delete(metadata, "managedFields")
	if typeSchemaOf(reflect.TypeFor[metav1.ObjectMeta]()).matches(metadata) {
		return &metav1.ObjectMeta{
			Name: d.GetName(), GenerateName: d.GetGenerateName(), Namespace: d.GetNamespace(), UID: d.GetUID(),
			ResourceVersion: d.GetResourceVersion(), Generation: d.GetGeneration(),
			CreationTimestamp: d.GetCreationTimestamp(), DeletionTimestamp: d.GetDeletionTimestamp(),
			DeletionGracePeriodSeconds: d.GetDeletionGracePeriodSeconds(),
			Labels:                     d.GetLabels(), Annotations: d.GetAnnotations(),
			OwnerReferences: d.GetOwnerReferences(), Finalizers: d.GetFinalizers(),
		}, nil
	}
	meta := &metav1.ObjectMeta{}
	text, err := json.Marshal(metadata)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, meta)
	}
	return meta, err
}

// Metadata returns the member metadata, which it sets if it is missing.
func (d Object) Metadata() map[string]any {
	metadata, ok := d.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		d.Object["metadata"] = metadata
	}
	return metadata
}

// CopyMetadata copies members of another object's metadata, or deletes those that it lacks.
func (d Object) CopyMetadata(other Object, members ...string) {
	for _, member := range members {
		copyOrDelete(d.Metadata(), other.Metadata(), member)
	}
}

// DeleteMetadata deletes members of the metadata.
func (d Object) DeleteMetadata(members ...string) {
	for _, member := range members {
		delete(d.Metadata(), member)
	}
}

// SetNamespace sets the namespace of the URL, or removes the namespace if the resource has none. An object with another namespace is an
// error.
func SetNamespace(d Object, ref resource.Ref) error {
	switch {
	case !ref.Resource.Namespaced:
		d.DeleteMetadata("namespace")
		return nil
	case d.GetNamespace() == ref.Scope.Namespace:
		return nil
	case d.GetNamespace() == "":
		d.SetNamespace(ref.Scope.Namespace)
		return nil
	}
	return status.BadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// GenerateName sets a random name that begins with the object's generateName.
func GenerateName(d Object) { d.SetName(names.SimpleNameGenerator.GenerateName(d.GetGenerateName())) }

// KeepsMetadata reports whether the metadata of an update needs no validation, as in most updates: it equals that of the old object, except
// for the members that the server writes, and has common members only.
func (d Object) KeepsMetadata(old Object) bool {
	for name, value := range d.Metadata() {
		switch name {
		case "managedFields", "name", "namespace", "uid", "resourceVersion":
		case "generation":
			if _, number := value.(int64); !number {
				return false
			}
		case "creationTimestamp":
			text, _ := value.(string)
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				return false
			}
		case "labels":
			if !areLabels(value) {
				return false
			}
		default:
			return false
		}
	}
	return equalExcept(d.Metadata(), old.Metadata(), "managedFields", "generation") // which the server writes
}

// areLabels reports whether labels need no validation. Labels with a prefix need it.
func areLabels(value any) bool {
	labels, ok := value.(map[string]any)
	for key, value := range labels {
		text, isText := value.(string)
		if !isText || !isLabelText(key) || text != "" && !isLabelText(text) {
			return false
		}
	}
	return ok
}

// isLabelText reports whether a text has at most 63 characters, all of them allowed in labels, and begins and ends with a letter or digit.
func isLabelText(text string) bool {
	const most = 63
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(text)-1:
		default:
			return false
		}
	}
	return 0 < len(text) && len(text) <= most
}
