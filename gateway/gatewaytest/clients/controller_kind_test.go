package clients

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Site is the custom kind that the controllers under test manage: a page that is made of a template.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitzero"`
}

// SiteSpec is the wanted state.
type SiteSpec struct {
	Template string `json:"template"` // the name of a ConfigMap
}

// SiteStatus is the state that the controller has reached.
type SiteStatus struct {
	Text       string             `json:"text,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

// siteVersion is the version of the kind in its definition.
const siteVersion = `
name: v1
served: true
storage: true
subresources: {status: {}}
selectableFields: [{jsonPath: .spec.template}]
schema:
  openAPIV3Schema:
    type: object
    required: [spec]
    properties:
      spec:
        type: object
        required: [template]
        properties: {template: {type: string, minLength: 1}}
      status:
        type: object
        properties:
          text: {type: string}
          conditions:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [type]
            items:
              type: object
              required: [type, status, reason, lastTransitionTime]
              properties:
                type: {type: string}
                status: {type: string, enum: ["True", "False", Unknown]}
                reason: {type: string}
                message: {type: string}
                lastTransitionTime: {type: string, format: date-time}
                observedGeneration: {type: integer, format: int64}
`

var siteKind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Site"}

// scheme has the kinds that the controllers know.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(coordinationv1.AddToScheme(s))
	s.AddKnownTypes(siteKind.GroupVersion(), &Site{}, &SiteList{})
	metav1.AddToGroupVersion(s, siteKind.GroupVersion())
	return s
}

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object { return s.deepCopy() }

func (s *Site) deepCopy() *Site {
	out := *s
	s.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].deepCopy())
	}
	return &out
}
