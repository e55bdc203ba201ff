package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// BodyTypes are the media types in which the resource's objects, and the options of their deletion, are accepted.
func (r *Resource) BodyTypes() []string {
	accepted := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	if r.GoType != nil {
		accepted = append(accepted, runtime.ContentTypeProtobuf)
	}
	return accepted
}

// PatchTypes are the media types of the patches that the resource accepts. Strategic merge patches need a Go type.
func (r *Resource) PatchTypes() []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.GoType != nil {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return append(accepted, string(types.ApplyYAMLPatchType))
}
