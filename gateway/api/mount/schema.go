package mount

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/encoding/codec"
	"revtail/gateway/resource"
)

// schema checks the objects of a mount that clients write: only a name and the value can be stored.
type schema struct{ mount *Mount }

var _ resource.Schema = schema{}

// lastApplied is an annotation of kubectl apply, which works without it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// members are the members of an object.
var members = []string{"apiVersion", "kind", "metadata", valueMember, undecodableMember, bytesMember}

// Complete removes the members that no object of a mount has, and kubectl's own annotation.
func (s schema) Complete(object map[string]any) (unknown []string, err error) {
	for name := range object {
		if !slices.Contains(members, name) {
			unknown = append(unknown, name)
			delete(object, name)
		}
	}
	slices.Sort(unknown)
	metadata, _ := object["metadata"].(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, lastApplied)
	}
	return unknown, nil
}

// Validate refuses fields that cannot be stored.
func (s schema) Validate(_ context.Context, object, old map[string]any) field.ErrorList {
	errs := s.validateMetadata(object)
	for _, member := range []string{undecodableMember, bytesMember} {
		if given, ok := object[member]; ok && given != old[member] {
			errs = append(errs, field.Forbidden(field.NewPath(member), "shows what could not be decoded; to write, set "+valueMember))
		}
	}
	value := field.NewPath(valueMember)
	if _, ok := object[valueMember]; !ok {
		if _, undecodable := old[bytesMember]; !undecodable || object[bytesMember] == nil {
			errs = append(errs, field.Required(value, "the value of the key"))
		}
		return errs
	}
	if _, err := s.mount.Encode(object); err != nil {
		errs = append(errs, field.Invalid(value, field.OmitValueType{}, err.Error()))
	}
	return errs
}

func (s schema) validateMetadata(object map[string]any) (errs field.ErrorList) {
	path := field.NewPath("metadata")
	metadata, _ := object["metadata"].(map[string]any)
	refuse := func(path *field.Path) {
		errs = append(errs, field.Forbidden(path, "cannot be stored: the key of a mount holds the value and nothing else"))
	}
	for _, member := range []string{"labels", "finalizers", "ownerReferences"} {
		fields, _ := metadata[member].(map[string]any)
		elements, _ := metadata[member].([]any)
		if len(fields)+len(elements) > 0 {
			refuse(path.Child(member))
		}
	}
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	key, ok := s.mount.Key(resource.Scope{Namespace: namespace, Name: name})
	if !ok && s.mount.validateName(name, false) == nil {
		errs = append(errs, field.Invalid(path.Child("namespace"), namespace, "no key has a first segment that is this namespace"))
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	own := annotationOf(key)
	for annotation, given := range annotations {
		if annotation != own[0] || given != own[1] {
			refuse(path.Child("annotations").Key(annotation))
		}
	}
	return errs
}

// CheckField accepts the value and all that is in it.
func (s schema) CheckField(path []string) error {
	if slices.Contains(members[3:], path[0]) {
		return nil
	}
	return resource.UnknownField(path, 0, slices.Clone(members[3:]))
}

// OpenAPI makes the schema for clients.
func (s schema) OpenAPI() *spec.Schema {
	value := &spec.Schema{SchemaProps: spec.SchemaProps{Description: "The value of the key, which may be of any type."}}
	switch s.mount.Codec {
	case codec.ValueString:
		value = spec.StringProperty().WithDescription("The value of the key.")
	case codec.ValueBytes:
		value = spec.StrFmtProperty("byte").WithDescription("The value of the key, in base64.")
	default:
		value.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	}
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Description: s.mount.Kind + " is a key of etcd below " + s.mount.Prefix + ", which the annotation " + keyAnnotation + " has in full."}}
	out.SetProperty(valueMember, *value)
	out.SetProperty(undecodableMember, *spec.StringProperty().WithDescription("Why the value of the key could not be decoded; it is shown in bytes then."))
	out.SetProperty(bytesMember, *spec.StrFmtProperty("byte").WithDescription("The value of the key, in base64, where it could not be decoded."))
	return out
}
