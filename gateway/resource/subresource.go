package resource

import autoscalingv1 "k8s.io/api/autoscaling/v1"

// The subresources, which are parts of an object with a URL of their own.
const (
	StatusSubresource = "status" // whose representation is the whole object
	ScaleSubresource  = "scale"  // whose representation is a Scale
)

// ScaleKind is the kind of the scale subresource, whatever the resource.
var ScaleKind = &Resource{Group: "autoscaling", Version: "v1", Kind: "Scale", GoType: autoscalingv1.Scale{}}

// Subresources returns the subresources of the resource.
func (r *Resource) Subresources() []Ref {
	var out []Ref
	if r.Status {
		out = append(out, Ref{Resource: r, Subresource: StatusSubresource})
	}
	if r.Scale != nil {
		out = append(out, Ref{Resource: r, Subresource: ScaleSubresource})
	}
	return out
}
