package resource

import autoscalingv1 "k8s.io/api/autoscaling/v1"

// ScaleKind is the kind of the scale subresource, whatever the resource.
var ScaleKind = &Resource{Group: "autoscaling", Version: "v1", Kind: "Scale", GoType: autoscalingv1.Scale{}}
