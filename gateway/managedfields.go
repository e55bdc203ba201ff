package gateway

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	mergeschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// fieldManagers keep account, in metadata.managedFields, of who manages which fields of a resource's objects. They are made
// when they are first asked for.
type fieldManagers func() *accounts

// accounts are how a resource's objects are merged, and the library's field managers: one for each subresource, under the
// empty name that of the objects themselves.
type accounts struct {
	schema *mergeschema.Schema // nil: the kind has no types
	root   mergeschema.TypeRef
	of     map[string]*managedfields.FieldManager
}

func newFieldManagers(res *resource.Resource) fieldManagers {
	return sync.OnceValue(func() *accounts {
		kind := objectKind{runtimeschema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}}
		converter := typesOf(res, kind)
		manager := func(subresource string, managed fieldpath.Filter) *managedfields.FieldManager {
			filters := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(res.APIVersion()): managed}
			m, err := managedfields.NewDefaultCRDFieldManager(converter, kind, kind, kind, kind.GroupVersionKind, kind.GroupVersion(), subresource, filters)
			if err != nil {
				panic("gateway: field manager of " + res.QualifiedName() + ": " + err.Error()) // not reached: the library returns none
			}
			return m
		}
		managers := map[string]*managedfields.FieldManager{"": manager("", fieldpath.NewExcludeSetFilter(ownFields(res)))}
		if res.Status {
			managers[resource.StatusSubresource] = manager(resource.StatusSubresource, statusFields(res))
		}
		if res.Scale != nil {
			managers[resource.ScaleSubresource] = manager(resource.ScaleSubresource, only(res.Scale.SpecReplicas...))
		}
		out := &accounts{of: managers}
		blank, _ := kind.New(kind.GroupVersionKind)
		if typed, err := converter.ObjectToTyped(blank); err == nil {
			out.schema, out.root = typed.Schema(), typed.TypeRef()
		}
		return out
	})
}

// ownFields are the fields that a write to an object does not change, whatever it says of them.
func ownFields(res *resource.Resource) *fieldpath.Set {
	if res.Status {
		return fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	return fieldpath.NewSet()
}

// statusFields lets pass what a write to the status changes.
func statusFields(res *resource.Resource) fieldpath.Filter {
	written := []*fieldpath.SetMatcher{fieldpath.MakePrefixMatcherOrDie("status")}
	for _, member := range statusMetadata(res) {
		written = append(written, fieldpath.MakePrefixMatcherOrDie("metadata", member))
	}
	return fieldpath.NewIncludeMatcherFilter(written...)
}

// only lets pass what stands below a path.
func only(path ...string) fieldpath.Filter {
	parts := make([]any, len(path))
	for i, part := range path {
		parts[i] = part
	}
	return fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie(parts...))
}

// track enters into the managedFields of a document what has changed since old, as the work of who asks for it.
func (wr *writeRequest) track(old, next document) {
	if wr.patchType == types.ApplyYAMLPatchType {
		return // to apply a configuration is to say who manages what
	}
	if wr.Resource.Mount != nil {
		return // there is no place to keep it
	}
	if wr.account(old, next) {
		return
	}
	if _, err := wr.fields().of[wr.Subresource].Update(old.Unstructured, next.Unstructured, wr.manager); err != nil {
		next.take(old, "managedFields") // one of the two is not as its kind should be: nobody can say who manages what
	}
}

// typesOf knows how the fields of a resource's objects are merged: from their schema or, where that says nothing of use, from
// the values.
func typesOf(res *resource.Resource, kind objectKind) managedfields.TypeConverter {
	schemas := make(schema.Set)
	schemas.AddResource(res)
	converter, err := managedfields.NewTypeConverter(schemas, true)
	if err != nil {
		converter = managedfields.NewDeducedTypeConverter()
	}
	if res.GoType != nil {
		return converter
	}
	return customTypes{converter, kind}
}

// customTypes are those of a custom resource, of which one version is as good as another: they differ in their names.
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

// objectKind is what field managers need to know of a kind beside its types: objects become those of another version by
// taking its name, have no defaults that are not stored, and begin blank.
type objectKind struct{ runtimeschema.GroupVersionKind }

func (k objectKind) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	object, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("not a document")
	}
	found := object.GroupVersionKind()
	wanted, ok := target.KindForGroupVersionKinds([]runtimeschema.GroupVersionKind{found})
	switch {
	case !ok:
		return nil, runtime.NewNotRegisteredErrForTarget(k.Kind, nil, target)
	case wanted == found:
		return object, nil
	}
	return &unstructured.Unstructured{Object: withMember(object.Object, "apiVersion", wanted.GroupVersion().String())}, nil
}

func (objectKind) New(kind runtimeschema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (objectKind) Default(runtime.Object) {}

// Convert and ConvertFieldLabel belong to the interface; field managers do not call them.
func (objectKind) Convert(_, _, _ any) error { return errors.ErrUnsupported }

func (objectKind) ConvertFieldLabel(runtimeschema.GroupVersionKind, string, string) (label, value string, err error) {
	return "", "", errors.ErrUnsupported
}
