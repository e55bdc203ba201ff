package resource

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref is what a URL names: a collection of objects, an object, or a subresource of an object.
type Ref struct {
	Resource    *Resource
	Scope       Scope
	Subresource string // empty: the object itself
}

// Key returns the etcd key of the object: below root, unless the resource is a mount.
func (r Ref) Key(root string) string { return r.Resource.Key(root, r.Scope) }

// IsNamespace reports whether the object is a Namespace.
func (r Ref) IsNamespace() bool { return r.Resource.IsNamespaces() }

// Misplaced reports whether the URL has a namespace where the resource has none, or lacks one before a name.
func (r Ref) Misplaced() bool {
	if r.Resource.Namespaced {
		return r.Scope.Namespace == "" && r.Scope.Name != ""
	}
	return r.Scope.Namespace != ""
}

// Methods returns the HTTP methods of the URL, as the value of an Allow header.
func (r Ref) Methods() string {
	switch {
	case r.Scope.Name == "" && r.Resource.Namespaced && r.Scope.Namespace == "":
		return "GET, HEAD"
	case r.Scope.Name == "":
		return "GET, HEAD, POST, DELETE"
	case r.Subresource == "":
		return "GET, HEAD, PUT, PATCH, DELETE"
	case r.Subresource == FinalizeSubresource:
		return "PUT"
	case r.ViewKind().Virtual:
		return "POST"
	}
	return "GET, HEAD, PUT, PATCH"
}

// HasSubresource reports whether the resource has the subresource of the URL.
func (r Ref) HasSubresource() bool {
	return slices.ContainsFunc(r.Resource.Subresources(), func(sub Ref) bool { return sub.Subresource == r.Subresource })
}

// ViewKind returns the resource of the representation that the URL has: the resource itself, or one of the kinds of this file.
func (r Ref) ViewKind() *Resource {
	switch r.Subresource {
	case ScaleSubresource:
		return ScaleKind
	case TokenSubresource:
		return TokenKind
	case BindingSubresource:
		return BindingKind
	case EvictionSubresource:
		return EvictionKind
	}
	return r.Resource
}

// GroupKind returns the kind of the object.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Kind}
}

// GroupResource returns the name of the resource.
func (r Ref) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Plural}
}

// PluralAsKind is for errors in which kube-apiserver writes the resource instead of the kind.
func (r Ref) PluralAsKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Plural}
}

// KindAsResource is for errors in which kube-apiserver writes the kind instead of the resource.
func (r Ref) KindAsResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Kind}
}

// The subresources, which are parts of an object with a URL of their own.
const (
	StatusSubresource = "status" // whose representation is the whole object
	ScaleSubresource  = "scale"  // whose representation is a Scale
	TokenSubresource  = "token"  // which answers a TokenRequest, and stores nothing

	BindingSubresource  = "binding"  // which assigns a Pod to a Node
	EvictionSubresource = "eviction" // which deletes a Pod, if its PodDisruptionBudget allows that
	// FinalizeSubresource is that of a Namespace, whose spec.finalizers are written through it alone. It cannot be read.
	FinalizeSubresource = "finalize"
)

// ScaleKind is the kind of the scale subresource, whatever the resource.
var ScaleKind = &Resource{Group: "autoscaling", Version: "v1", Kind: "Scale", GoType: autoscalingv1.Scale{}}

// TokenKind is the kind of the token subresource.
var TokenKind = &Resource{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest", Virtual: true, GoType: authenticationv1.TokenRequest{}}

// BindingKind is the kind of the binding subresource, and of a collection to which bindings are posted too.
var BindingKind = &Resource{Version: "v1", Plural: "bindings", Singular: "binding", Kind: "Binding", Namespaced: true, Virtual: true, GoType: corev1.Binding{}}

// EvictionKind is the kind of the eviction subresource.
var EvictionKind = &Resource{Group: policyv1.GroupName, Version: "v1", Kind: "Eviction", Virtual: true, GoType: policyv1.Eviction{}}

// EvictionBetaKind is the kind that older clients send to the eviction subresource.
var EvictionBetaKind = &Resource{Group: policyv1beta1.GroupName, Version: "v1beta1", Kind: "Eviction", Virtual: true, GoType: policyv1beta1.Eviction{}}

// Subresources returns the subresources of the resource.
func (r *Resource) Subresources() []Ref {
	var out []Ref
	if r.IsNamespaces() {
		out = append(out, Ref{Resource: r, Subresource: FinalizeSubresource})
	}
	if r.IsPods() {
		out = append(out, Ref{Resource: r, Subresource: BindingSubresource}, Ref{Resource: r, Subresource: EvictionSubresource})
	}
	if r.Status {
		out = append(out, Ref{Resource: r, Subresource: StatusSubresource})
	}
	for _, name := range r.Whole {
		out = append(out, Ref{Resource: r, Subresource: name})
	}
	if r.Scale != nil {
		out = append(out, Ref{Resource: r, Subresource: ScaleSubresource})
	}
	if r.Tokens {
		out = append(out, Ref{Resource: r, Subresource: TokenSubresource})
	}
	return out
}
