package managedfields

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	mergeschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"revtail/gateway/api/object"
	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// Managers records the managers of fields in metadata.managedFields of a resource's objects. The first use loads the types of the
// resource.
type Managers struct {
	resource *resource.Resource
	load     func() *fieldManagers
}

// fieldManagers has the merge rules of a resource's objects, and the library's field managers by subresource.
type fieldManagers struct {
	schema        *mergeschema.Schema // nil: the kind has no types
	root          mergeschema.TypeRef
	bySubresource map[string]*managedfields.FieldManager // empty: the object itself
}

// Change names the manager that changes an object, and the subresource of the URL.
type Change struct{ Manager, Subresource string }

// whole reports whether the change is one of all fields but the status.
func (c Change) whole() bool {
	return c.Subresource == "" || c.Subresource == resource.FinalizeSubresource
}

// New returns the Managers of a resource.
func New(res *resource.Resource) *Managers {
	return &Managers{resource: res, load: sync.OnceValue(func() *fieldManagers { return newFieldManagers(res) })}
}

func newFieldManagers(res *resource.Resource) *fieldManagers {
	kind := objectKind{GroupVersionKind: kindOf(res), resource: res}
	converter := typesOf(res, kind)
	manager := func(subresource string, managed fieldpath.Filter) *managedfields.FieldManager {
		filters := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(res.APIVersion()): managed}
		m, err := managedfields.NewDefaultCRDFieldManager(converter, kind, kind, kind, kind.GroupVersionKind, kind.GroupVersion(), subresource, filters)
		if err != nil {
			panic("managedfields: field manager of " + res.QualifiedName() + ": " + err.Error()) // not reached: the library returns none
		}
		return m
	}
	ignored := fieldpath.NewSet() // by writes to the object itself
	out := &fieldManagers{bySubresource: map[string]*managedfields.FieldManager{}}
	if res.Status {
		ignored.Insert(fieldpath.MakePathOrDie("status"))
		out.bySubresource[resource.StatusSubresource] = manager(resource.StatusSubresource, statusFields(res))
	}
	out.bySubresource[""] = manager("", fieldpath.NewExcludeSetFilter(ignored))
	if res.IsNamespaces() {
		out.bySubresource[resource.FinalizeSubresource] = manager(resource.FinalizeSubresource, fieldpath.NewExcludeSetFilter(ignored))
	}
	if res.Scale != nil {
		out.bySubresource[resource.ScaleSubresource] = manager(resource.ScaleSubresource, includeOnly(res.Scale.SpecReplicas...))
	}
	empty, _ := kind.New(kind.GroupVersionKind)
	if typed, err := converter.ObjectToTyped(empty); err == nil {
		out.schema, out.root = typed.Schema(), typed.TypeRef()
	}
	return out
}

// Update records in next the fields that have changed since old. It does nothing for mounts, which have no managedFields, and for objects of any version. The managedFields
// stay those of old if one of the objects does not match its type, or if it is larger than what the library updates in a short time.
func (m *Managers) Update(c Change, old, next object.Object) {
	if m.resource.Mount != nil || m.resource.AnyVersion || m.fastUpdate(c, old, next) {
		return
	}
	if m.checkLimits(old, next) != nil {
		next.CopyMetadata(old, "managedFields")
		return
	}
	manager, ok := m.load().bySubresource[c.Subresource]
	if ok {
		_, err := manager.Update(old.Unstructured, next.Unstructured, c.Manager)
		ok = err == nil // one of the objects does not match its type
	}
	if !ok {
		next.CopyMetadata(old, "managedFields")
	}
}

// Apply merges a configuration into an object, and records the configuration's fields as the manager's. A conflict with other
// managers is an APIStatus; force takes their fields over. Objects that would take too long are a *LimitError.
func (m *Managers) Apply(c Change, old, configuration object.Object, force bool) (object.Object, error) {
	if err := m.checkLimits(old, configuration); err != nil {
		return object.Object{}, err
	}
	merged, err := m.load().bySubresource[c.Subresource].Apply(old.Copy().Unstructured, configuration.Unstructured, c.Manager, force)
	if err != nil {
		return object.Object{}, err
	}
	u, ok := merged.(*unstructured.Unstructured)
	if !ok {
		return object.Object{}, fmt.Errorf("apply returned a %T", merged)
	}
	return object.New(u.Object), nil
}

// statusFields returns a filter of the fields that a write to the status changes.
func statusFields(res *resource.Resource) fieldpath.Filter {
	written := []*fieldpath.SetMatcher{fieldpath.MakePrefixMatcherOrDie("status")}
	for _, member := range object.StatusMetadata(res) {
		written = append(written, fieldpath.MakePrefixMatcherOrDie("metadata", member))
	}
	return fieldpath.NewIncludeMatcherFilter(written...)
}

// includeOnly returns a filter of the fields below a path.
func includeOnly(path ...string) fieldpath.Filter {
	parts := make([]any, len(path))
	for i, part := range path {
		parts[i] = part
	}
	return fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie(parts...))
}

// typesOf returns the merge rules of a resource's fields: those of its schema or, if that has none, of the values.
func typesOf(res *resource.Resource, kind objectKind) managedfields.TypeConverter {
	schemas := make(schema.Set)
	schemas.AddResource(res)
	for _, version := range res.Versions {
		schemas.AddResource(version)
	}
	converter, err := managedfields.NewTypeConverter(schemas, true)
	if err != nil {
		converter = managedfields.NewDeducedTypeConverter()
	}
	if res.GoType != nil || res.Versions != nil {
		return converter
	}
	return customTypes{converter, kind}
}

// customTypes are the types of a custom resource, whose versions differ only in their names.
type customTypes struct {
	managedfields.TypeConverter
	kind objectKind
}

func (c customTypes) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	object, err := c.kind.ConvertToVersion(object, c.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return c.TypeConverter.ObjectToTyped(object, options...)
}

// objectKind implements the library's interfaces for a kind. A conversion changes only the apiVersion, unless the versions of the kind have
// different fields. There are no defaults.
type objectKind struct {
	runtime.ObjectConvertor // nil: field managers call no other methods
	runtimeschema.GroupVersionKind
	resource *resource.Resource
}

func kindOf(res *resource.Resource) runtimeschema.GroupVersionKind {
	return runtimeschema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
}

func (k objectKind) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("the object is not unstructured")
	}
	found := u.GroupVersionKind()
	kinds := []runtimeschema.GroupVersionKind{found}
	for _, version := range k.resource.Versions {
		kinds = append(kinds, kindOf(version))
	}
	wanted, ok := target.KindForGroupVersionKinds(kinds)
	switch {
	case !ok, k.resource.Versions != nil && !slices.Contains(kinds, wanted):
		return nil, runtime.NewNotRegisteredErrForTarget(k.Kind, nil, target)
	case wanted == found:
		return u, nil
	case k.resource.Versions != nil:
		converted, err := k.resource.Convert(u.Object, wanted.GroupVersion())
		return &unstructured.Unstructured{Object: converted}, err
	}
	return &unstructured.Unstructured{Object: object.WithMember(u.Object, "apiVersion", wanted.GroupVersion().String())}, nil
}

func (objectKind) New(kind runtimeschema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (objectKind) Default(runtime.Object) {}
