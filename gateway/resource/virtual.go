package resource

import (
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// virtual are the reviews, by which clients read their user and their permissions.
var virtual = []Resource{
	{Group: "authentication.k8s.io", Version: "v1", Plural: "selfsubjectreviews", Kind: "SelfSubjectReview", Virtual: true,
		GoType: authenticationv1.SelfSubjectReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectaccessreviews", Kind: "SelfSubjectAccessReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectAccessReview{}},
	{Group: "authorization.k8s.io", Version: "v1", Plural: "selfsubjectrulesreviews", Kind: "SelfSubjectRulesReview", Virtual: true,
		GoType: authorizationv1.SelfSubjectRulesReview{}},
}

// Virtual returns the virtual resources. They are in no Registry, because they cannot be read or watched.
func Virtual() []*Resource {
	out := make([]*Resource, len(virtual))
	for i := range virtual {
		r := virtual[i]
		r.Singular = strings.ToLower(r.Kind)
		out[i] = &r
	}
	return out
}
