package object

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// TypedMetadata returns the metadata without managedFields, which package managedfields checks. An error says which field has the wrong
// type.
func (d Object) TypedMetadata() (*metav1.ObjectMeta, error) {
	metadata := without(d.Metadata(), "managedFields")
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
	return meta, readMeta(metadata, meta)
}

func readMeta(metadata map[string]any, into *metav1.ObjectMeta) error {
	text, err := json.Marshal(metadata)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
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

const (
	// nameLetters make no words and do not look alike.
	nameLetters   = "bcdfghjklmnpqrstvwxz2456789"
	nameSuffix    = 5
	maxNamePrefix = 63 - nameSuffix
)

// GenerateName sets a random name that begins with the object's generateName.
func GenerateName(d Object) {
	base := d.GetGenerateName()
	name := []byte(base[:min(len(base), maxNamePrefix)])
	for range nameSuffix {
		name = append(name, nameLetters[rand.IntN(len(nameLetters))])
	}
	d.SetName(string(name))
}
