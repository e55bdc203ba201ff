package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// Object is a decoded object.
type Object struct {
	*unstructured.Unstructured
	FieldWarnings []string // the unknown and duplicate fields, for fieldValidation
}

// New returns an Object of decoded JSON, which it shares.
func New(object map[string]any) Object {
	return Object{Unstructured: &unstructured.Unstructured{Object: object}}
}

// Empty returns an object of a resource without fields: the state before a create.
func Empty(res *resource.Resource) Object {
	return New(map[string]any{"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{}})
}

// Zero returns the object with which a new one is compared to find the fields that it sets.
func Zero(res *resource.Resource) Object {
	if res.Strategy != nil {
		return New(res.Strategy.Zero())
	}
	return Empty(res)
}

// Copy returns a deep copy.
func (d Object) Copy() Object {
	return Object{Unstructured: d.DeepCopy(), FieldWarnings: d.FieldWarnings}
}

// ShallowCopy returns a copy whose members, and members of metadata, can be replaced. Their values are shared.
func (d Object) ShallowCopy() Object {
	out := New(WithMember(d.Object, "metadata", maps.Clone(d.Metadata())))
	out.FieldWarnings = d.FieldWarnings
	return out
}

// copyOrDelete copies a member of another object, or deletes it if the other object lacks it.
func copyOrDelete(object, other map[string]any, member string) {
	if value, ok := other[member]; ok {
		object[member] = value
	} else {
		delete(object, member)
	}
}

// WithMember returns a shallow copy of an object with another value for one member.
func WithMember(object map[string]any, name string, value any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}

// WithDefaults returns a stored object with the defaults of its kind or schema, which may be newer than the object. They include those of
// the status, because a new object is stored without one.
func WithDefaults(res *resource.Resource, value []byte) []byte {
	if res.Defaults == nil || res.Complete != nil && jsontext.HasFields(value, res.Complete) {
		return value
	}
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return value // encoding.Normalize returns the error
	}
	res.Defaults(object)
	completed, err := encoding.Marshal(object)
	if err != nil {
		return value
	}
	return completed
}

// FromStored returns a stored object in the version of its resource, with defaults.
func FromStored(res *resource.Resource, value []byte) ([]byte, error) {
	if res.Conversion == nil {
		return WithDefaults(res, value), nil
	}
	converted, errs := res.Conversion.FromStored([][]byte{value})
	return converted[0], errs[0]
}

// ToStored returns an object as it is stored, in another version than that of its resource.
func ToStored(res *resource.Resource, d Object) (map[string]any, error) {
	if res.Conversion != nil {
		return res.Conversion.ToStored(d.Object)
	}
	stored := d.Copy().Object
	res.Store(stored)
	stored["apiVersion"] = res.Stored().String()
	return stored, nil
}
