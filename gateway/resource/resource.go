// Package resource knows which resources there are, and is the one place where a request's scope becomes an etcd key.
package resource

import "strings"

// Resource is one kind of object that is served: where it stands in the URL space and what it is called.
type Resource struct {
	Group      string // empty: the core group
	Version    string
	Plural     string
	Singular   string
	Kind       string
	Namespaced bool
	ShortNames []string
	Categories []string

	// Status says that .status is written through the status subresource alone.
	Status bool
	// Ungenerated says that metadata.generation does not count the changes of the objects, as they are no wish that somebody
	// fulfils.
	Ungenerated bool
	// CreateOnUpdate says that a PUT to an absent object creates it, as Kubernetes does for a few kinds.
	CreateOnUpdate bool
	// UnconditionalUpdate says that a PUT may leave out resourceVersion.
	UnconditionalUpdate bool
	// GoType is the Go type of the kind, for strategic merge patches and protobuf; nil where there is none.
	GoType any
	// Defaults sets, in place, what is not there; nil: nothing. Those of custom resources are in their Schema.
	Defaults Defaults
	// Virtual says that an object is a question, which its create answers: nothing is stored, and there is no other verb.
	Virtual bool

	// Of custom resources only:

	// Storage is the version whose apiVersion stored objects carry; empty: Version.
	Storage string
	// Deprecation is what clients of a version that they should leave are warned of; empty: the version may stay.
	Deprecation string
	// ListKindName is the kind of lists; empty: the kind with "List" behind it.
	ListKindName string
	// Schema checks and completes objects; nil for built-in kinds, whose GoType is known.
	Schema Schema
	// Scale says where the scale subresource finds its numbers; nil: there is none.
	Scale *Scale
	// Columns are those of tables, beside the name; empty: the kind's own, or only its age.
	Columns []Column

	// Of mounts only:

	// Mount is how the keys of other programs are objects; nil: objects are stored as they are, under their names.
	Mount Mount
	// ReadOnly says that objects are got, listed and watched, and nothing else.
	ReadOnly bool

	// ValidateName returns what is wrong with a name, or nothing.
	ValidateName func(name string, prefix bool) []string
}

// APIVersion is the group and version as objects carry them: "v1", "apps/v1".
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// ListKind is the kind of a list of this resource.
func (r *Resource) ListKind() string {
	if r.ListKindName != "" {
		return r.ListKindName
	}
	return r.Kind + "List"
}

// QualifiedName is the name messages use: "pods", "deployments.apps".
func (r *Resource) QualifiedName() string {
	if r.Group == "" {
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// QualifiedKind is the kind as messages use it: "Pod", "Deployment.apps".
func (r *Resource) QualifiedKind() string {
	if r.Group == "" {
		return r.Kind
	}
	return r.Kind + "." + r.Group
}

// SamePlace tells whether the objects of two resources have the same keys: those of two versions of one resource have.
func (r *Resource) SamePlace(o *Resource) bool { return r.Group == o.Group && r.Plural == o.Plural }

// Prefix is what every key of the resource begins with, below root unless it is a mount's; it ends with "/".
func (r *Resource) Prefix(root string) string {
	if r.Mount != nil {
		return r.Mount.KeyPrefix()
	}
	if r.Group == "" {
		return root + "/" + r.Plural + "/"
	}
	return root + "/" + r.Group + "/" + r.Plural + "/"
}

// Key is the etcd key of one of the resource's objects, below root unless it is a mount's.
func (r *Resource) Key(root string, scope Scope) string {
	if r.Mount != nil {
		key, _ := r.Mount.Key(scope) // requests for names that have no key are refused before
		return key
	}
	return r.Prefix(root) + scope.Path()
}

// IsNamespaces tells whether the objects are Namespaces.
func (r *Resource) IsNamespaces() bool { return r.Group == "" && r.Plural == "namespaces" }

// URL is the path of a part of the resource in the API.
func (r *Resource) URL(scope Scope) string {
	path := "/api/" + r.Version + "/"
	if r.Group != "" {
		path = "/apis/" + r.Group + "/" + r.Version + "/"
	}
	if scope.Namespace != "" {
		path += "namespaces/" + scope.Namespace + "/"
	}
	return strings.TrimSuffix(path+r.Plural+"/"+scope.Name, "/")
}

// Scope is a part of a resource: all of it, one namespace, or one object.
type Scope struct {
	Namespace string // empty: all namespaces, or a cluster-wide resource
	Name      string // empty: every object
}

// Path is the scope as the end of a key, below the resource's prefix: "namespace/name", "namespace/", "name" or "".
// A scope of several objects ends with "/" or is empty, so that no scope is the beginning of another one's name.
func (s Scope) Path() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// Split is Path's inverse for keys: what stands below the resource's prefix, as namespace and name.
// It is false for a key that no object of the resource can have.
func (r *Resource) Split(path string) (Scope, bool) {
	if !r.Namespaced {
		return Scope{Name: path}, validSegment(path)
	}
	namespace, name, found := strings.Cut(path, "/")
	return Scope{Namespace: namespace, Name: name}, found && validSegment(namespace) && validSegment(name)
}

// Contains tells whether an object of scope o is a part of s.
func (s Scope) Contains(o Scope) bool {
	return (s.Namespace == "" || s.Namespace == o.Namespace) && (s.Name == "" || s.Name == o.Name)
}
