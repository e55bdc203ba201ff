package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref is the target of a URL: a collection of objects, an object, or a subresource.
type Ref struct {
	Resource    *Resource
	Scope       Scope
	Subresource string // empty: the object itself
}

// Key is the etcd key of the object, below root unless it is a mount's.
func (r Ref) Key(root string) string { return r.Resource.Key(root, r.Scope) }

// IsNamespace reports whether the object is a Namespace, which goes only after all that is in it.
func (r Ref) IsNamespace() bool { return r.Resource.IsNamespaces() }

// Misplaced reports whether the URL has a namespace where the resource has none, or lacks one before a name.
func (r Ref) Misplaced() bool {
	if r.Resource.Namespaced {
		return r.Scope.Namespace == "" && r.Scope.Name != ""
	}
	return r.Scope.Namespace != ""
}

// Methods are the HTTP methods that the URL has, as an Allow header lists them.
func (r Ref) Methods() string {
	switch {
	case r.Scope.Name == "" && r.Resource.Namespaced && r.Scope.Namespace == "":
		return "GET, HEAD"
	case r.Scope.Name == "":
		return "GET, HEAD, POST, DELETE"
	case r.Subresource == "":
		return "GET, HEAD, PUT, PATCH, DELETE"
	}
	return "GET, HEAD, PUT, PATCH"
}

// HasSubresource reports whether the resource has the subresource of the URL.
func (r Ref) HasSubresource() bool {
	return slices.ContainsFunc(r.Resource.Subresources(), func(sub Ref) bool { return sub.Subresource == r.Subresource })
}

// ViewKind is the resource as which clients see the object of the URL.
func (r Ref) ViewKind() *Resource {
	if r.Subresource == ScaleSubresource {
		return ScaleKind
	}
	return r.Resource
}

// GroupKind names the kind of the object.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Kind}
}

// GroupResource names the resource.
func (r Ref) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Plural}
}

// PluralAsKind is for refusals in which Kubernetes writes the resource where a kind belongs.
func (r Ref) PluralAsKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Plural}
}

// KindAsResource is for refusals in which Kubernetes writes the kind where a resource belongs.
func (r Ref) KindAsResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Kind}
}
