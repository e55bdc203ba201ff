package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/resource"
)

// Object is an object that a client writes.
type Object struct {
	*unstructured.Unstructured
	FieldWarnings []string // the unknown and duplicate fields that fieldValidation is about
}

// New wraps a decoded object, which it does not copy.
func New(object map[string]any) Object {
	return Object{Unstructured: &unstructured.Unstructured{Object: object}}
}

// Empty is an object of the resource that has no fields: the state before a create.
func Empty(res *resource.Resource) Object {
	return New(map[string]any{"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{}})
}

// Copy is a deep copy.
func (d Object) Copy() Object {
	return Object{Unstructured: d.DeepCopy(), FieldWarnings: d.FieldWarnings}
}

// ShallowCopy is for changes of the members of the document and of its metadata: their values are shared.
func (d Object) ShallowCopy() Object {
	out := New(WithMember(d.Object, "metadata", maps.Clone(d.Metadata())))
	out.FieldWarnings = d.FieldWarnings
	return out
}

// copyOrDelete gives an object the member of another one, or deletes it where the other has none.
func copyOrDelete(object, other map[string]any, member string) {
	if value, ok := other[member]; ok {
		object[member] = value
	} else {
		delete(object, member)
	}
}

// WithMember is a shallow copy of an object with another value for one member.
func WithMember(object map[string]any, name string, value any) map[string]any {
	out := maps.Clone(object)
	out[name] = value
	return out
}

// without is a shallow copy of an object without one member.
func without(object map[string]any, name string) map[string]any {
	out := maps.Clone(object)
	delete(out, name)
	return out
}
