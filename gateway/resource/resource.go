// Package resource has the resources that the gateway serves, and the only functions that make etcd keys of a request's scope.
package resource

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"revtail/encoding/jsontext"
)

// Resource is a kind of object that is served: its names, and how its objects are checked and stored.
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
	// Whole are the subresources, beside the status, whose representation is the whole object: a Strategy says what a write to them changes.
	Whole []string
	// Ungenerated says that metadata.generation does not count the changes of the objects, because no controller acts on them.
	Ungenerated bool
	// CreateOnUpdate says that a PUT to an absent object creates it, as Kubernetes does for a few kinds.
	CreateOnUpdate bool
	// UnconditionalUpdate says that a PUT may leave out resourceVersion.
	UnconditionalUpdate bool
	// ReturnsDeleted says that a DELETE is answered with the object, as Kubernetes does for some kinds, and not with a Status.
	ReturnsDeleted bool
	// OrphansDependents says that a DELETE without a propagation policy keeps the dependents of an object, as Kubernetes does for two old kinds.
	OrphansDependents bool
	// DeletionWarning warns the client of such a DELETE; empty: nothing does.
	DeletionWarning string
	// GoType is the Go type of the kind, for strategic merge patches and protobuf; nil where there is none.
	GoType any
	// Defaults sets missing fields of a stored object, in place; nil: there are no defaults. Schema.Complete sets those of a new object.
	Defaults Defaults
	// Complete are fields: in a stored object that has all of them, as one that Strategy completed has, Defaults changes nothing. Nil: there are none.
	Complete []jsontext.Field
	// Strategy completes and validates objects before they are stored; nil: Defaults, Schema and the checks of metadata do.
	Strategy Strategy
	// Printer makes the rows of tables; nil: Columns say what they show.
	Printer Printer
	// Tokens says that the objects have the token subresource, which issues tokens for them.
	Tokens bool
	// Virtual says that objects are not stored: the resource has only the verb create, which sets the status of the object, or get and list if it is
	// ReadOnly.
	Virtual bool

	// Of kinds that are served in several groups or versions, and stored in one:

	// Storage has the group of the keys, and the apiVersion, of stored objects; empty: they are those of the resource.
	Storage schema.GroupVersion
	// Store converts an object to the stored one, in place; nil: they differ in the apiVersion alone. Defaults does the inverse.
	Store func(object map[string]any)
	// Versions are the resources of the same objects, with this one, if their fields differ; nil otherwise.
	Versions []*Resource
	// Convert returns an object of one of Versions as another has it. It does not change the object.
	Convert func(object map[string]any, to schema.GroupVersion) (map[string]any, error)

	// Of the data of a cluster:

	// KeyPrefix is the prefix of the keys, below that of all resources and without slashes at its ends: "services/specs"; empty: the group and
	// the plural.
	KeyPrefix string
	// StorageVersion is the version in which kube-apiserver stores objects; empty: that of Stored. Discovery shows it.
	StorageVersion string
	// Decode returns the JSON of an object, with all defaults and in the version of the resource, from a value that kube-apiserver has
	// stored; nil: the value is JSON, to which Defaults adds. The error says why the value cannot be decoded. It does not change the value.
	Decode func(value []byte) (object []byte, err error)

	// Of custom resources only:

	// Conversion converts objects that are stored in another version by a webhook; nil: Defaults and Store do. With it both are nil.
	Conversion Conversion
	// AnyVersion says that objects are shown in the versions in which they are stored, as only the gateway itself sees them.
	AnyVersion bool
	// Deprecation is the warning for clients of a deprecated version; empty: the version is not deprecated.
	Deprecation string
	// ListKindName is the kind of lists; empty: the kind with "List" behind it.
	ListKindName string
	// Schema checks and completes objects; nil for built-in kinds, which have a GoType.
	Schema Schema
	// Scale has the paths of the fields of the scale subresource; nil: there is none.
	Scale *Scale
	// Columns are the columns of tables beside the name; empty: only the age.
	Columns []Column

	// Of mounts only:

	// Mount converts keys of other programs to objects; nil: objects are stored as JSON, under their names.
	Mount Mount
	// ReadOnly says that objects can only be read, listed and watched; see Virtual.
	ReadOnly bool

	// ValidateName returns the errors of a name.
	ValidateName func(name string, prefix bool) []string
}

// APIVersion returns the apiVersion of objects: "v1", "apps/v1".
func (r *Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// ListKind returns the kind of a list.
func (r *Resource) ListKind() string {
	return cmp.Or(r.ListKindName, r.Kind+"List")
}

// QualifiedName returns the name in messages: "pods", "deployments.apps".
func (r *Resource) QualifiedName() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}.String()
}

// Stored returns the group of the keys and the apiVersion of stored objects.
func (r *Resource) Stored() schema.GroupVersion {
	if r.Storage.Empty() {
		return schema.GroupVersion{Group: r.Group, Version: r.Version}
	}
	return r.Storage
}

// IsStored reports whether objects are stored in the group and version of the resource.
func (r *Resource) IsStored() bool {
	return r.Stored() == schema.GroupVersion{Group: r.Group, Version: r.Version}
}

// SamePlace reports whether the objects of two resources have the same keys, as two versions of a resource do.
func (r *Resource) SamePlace(o *Resource) bool {
	return r.Stored().Group == o.Stored().Group && r.Plural == o.Plural
}

// IsCustom reports whether a CustomResourceDefinition defines the resource.
func (r *Resource) IsCustom() bool { return r.GoType == nil && r.Mount == nil }

// Prefix returns the prefix of the resource's keys, which ends with "/": below root, unless the resource is a mount.
func (r *Resource) Prefix(root string) string {
	if r.Mount != nil {
		return r.Mount.KeyPrefix()
	}
	if r.KeyPrefix != "" {
		return root + "/" + r.KeyPrefix + "/"
	}
	if group := r.Stored().Group; group != "" {
		root += "/" + group
	}
	return root + "/" + r.Plural + "/"
}

// Key returns the etcd key of an object: below root, unless the resource is a mount.
func (r *Resource) Key(root string, scope Scope) string {
	if r.Mount != nil {
		key, _ := r.Mount.Key(scope) // names that have no key have been refused before
		return key
	}
	return r.Prefix(root) + scope.Path()
}

// IsServices reports whether the objects are Services.
func (r *Resource) IsServices() bool { return r.Group == "" && r.Plural == "services" }

// IsNamespaces reports whether the objects are Namespaces.
func (r *Resource) IsNamespaces() bool { return r.Group == "" && r.Plural == "namespaces" }

// IsPods reports whether the objects are Pods.
func (r *Resource) IsPods() bool { return r.Group == "" && r.Plural == "pods" }

// URL returns the path of a scope in the API.
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

// Path returns the scope as the end of a key, below the resource's prefix: "namespace/name", "namespace/", "name" or "".
// The path of several objects ends with "/" or is empty, so that it is a prefix of the keys of these objects only.
func (s Scope) Path() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// Split is the inverse of Path: it returns the scope of a key without the resource's prefix; false: no object can have the key.
func (r *Resource) Split(path string) (Scope, bool) {
	if !r.Namespaced {
		return Scope{Name: path}, validSegment(path)
	}
	namespace, name, found := strings.Cut(path, "/")
	return Scope{Namespace: namespace, Name: name}, found && validSegment(namespace) && validSegment(name)
}

// BodyTypes returns the accepted media types of objects and of DeleteOptions.
func (r *Resource) BodyTypes() []string {
	accepted := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	if r.GoType != nil {
		accepted = append(accepted, runtime.ContentTypeProtobuf)
	}
	return accepted
}

// AnswerTypes returns the documented media types of responses with an object.
func (r *Resource) AnswerTypes() []string {
	if r.GoType != nil {
		return []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}
	}
	return []string{runtime.ContentTypeJSON}
}

// ListTypes returns the documented media types of lists and watches.
func (r *Resource) ListTypes() []string {
	types := r.AnswerTypes()
	for _, mediaType := range types {
		types = append(types, mediaType+";stream=watch")
	}
	return types
}

// PatchTypes returns the accepted media types of patches. Strategic merge patches need a Go type.
func (r *Resource) PatchTypes() []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.GoType != nil {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return append(accepted, string(types.ApplyYAMLPatchType))
}
