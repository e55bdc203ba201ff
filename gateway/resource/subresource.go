package resource

import autoscalingv1 "k8s.io/api/autoscaling/v1"

// The subresources: parts of an object that have a URL of their own.
const (
	StatusSubresource = "status" // clients see the whole object around it
	ScaleSubresource  = "scale"  // clients see a Scale
)

// ScaleKind is the kind of the scale subresource, whatever the resource.
var ScaleKind = &Resource{Group: "autoscaling", Version: "v1", Kind: "Scale", GoType: autoscalingv1.Scale{}}

// Subresources are those that the resource has.
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
