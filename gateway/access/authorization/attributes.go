package authorization

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Attributes is a request to authorize: for a resource, for keys, or at another path.
type Attributes struct {
	Verb string // of a resource and of keys: get, list, watch, create, update, patch, delete, deletecollection; of a path: the method, in lower case

	// Of a resource. An empty Resource means that the request is for keys or a path.
	Group       string
	Resource    string // plural
	Subresource string
	Namespace   string // empty: all of them, or none
	Name        string // empty: all, or not in the URL; set for a list if its field selector admits one name only
	Version     string

	// Of a list, a watch and a deletecollection, as the client has written them. A policy has no rules about them, other authorizers have.
	FieldSelector string
	LabelSelector string

	Key  string   // of etcd; a prefix ends with "/"
	Keys []string // further ones of the same request
	Path string   // of a URL that names neither a resource nor keys
}

// Forbidden returns the Status of a request that is denied, with the message of Kubernetes.
func (r Attributes) Forbidden(user string) error { return r.ForbiddenBecause(user, "") }

// ForbiddenBecause is Forbidden with the reason of the authorizer, if it has one.
func (r Attributes) ForbiddenBecause(user, reason string) error {
	group := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	if reason != "" {
		reason = ": " + reason
	}
	return apierrors.NewForbidden(group, r.Name, fmt.Errorf("User %q cannot %s %s%s", user, r.Verb, r.object(), reason)) //nolint:staticcheck // Kubernetes' words
}

func (r Attributes) object() string {
	switch {
	case r.Resource != "":
		where := "at the cluster scope"
		if r.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", r.Namespace)
		}
		return fmt.Sprintf("resource %q in API group %q %s", r.resource(), r.Group, where)
	case len(r.Keys) > 0:
		return fmt.Sprintf("key %q and %q", r.Key, r.Keys)
	case r.Key != "":
		return fmt.Sprintf("key %q", r.Key)
	}
	return fmt.Sprintf("path %q", r.Path)
}

// resource returns the resource as rules name it.
func (r Attributes) resource() string {
	if r.Subresource != "" {
		return r.Resource + "/" + r.Subresource
	}
	return r.Resource
}
