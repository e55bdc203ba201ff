package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// BodyTypes returns the accepted media types of objects and of DeleteOptions.
func (r *Resource) BodyTypes() []string {
	accepted := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	if r.GoType != nil {
		accepted = append(accepted, runtime.ContentTypeProtobuf)
	}
	return accepted
}

// PatchTypes returns the accepted media types of patches. Strategic merge patches need a Go type.
func (r *Resource) PatchTypes() []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.GoType != nil {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return append(accepted, string(types.ApplyYAMLPatchType))
}
