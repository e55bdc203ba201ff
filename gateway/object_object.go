package gateway

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/resource"
)

// document is an object that a client writes.
type document struct {
	*unstructured.Unstructured
	fieldWarnings []string // the unknown and duplicate fields that fieldValidation is about
}

func newDocument(object map[string]any) document {
	return document{Unstructured: &unstructured.Unstructured{Object: object}}
}

// emptyObject is an object of the resource that has no fields: the state before a create.
func emptyObject(res *resource.Resource) document {
	return newDocument(map[string]any{"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{}})
}

func (d document) copy() document {
	return document{Unstructured: d.DeepCopy(), fieldWarnings: d.fieldWarnings}
}

// shallowCopy is for changes of the members of the document and of its metadata: their values are shared.
func (d document) shallowCopy() document {
	out := newDocument(withMember(d.Object, "metadata", maps.Clone(d.metadata())))
	out.fieldWarnings = d.fieldWarnings
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

// withMember is a shallow copy of an object with another value for one member.
func withMember(object map[string]any, name string, value any) map[string]any {
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
