package admission

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding/gotype"
	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// objects converts the objects of a kind between JSON and what plugins read: the Go type of a built-in kind in its version, so that expressions
// and webhooks see each field that a cluster shows, and unstructured content for all others.
type objects struct {
	runtime.ObjectConvertor // of package kinds
	view                    *resource.Resource
	kind                    schema.GroupVersionKind
	served                  *resource.Registry
}

func newObjects(view *resource.Resource, served *resource.Registry) *objects {
	return &objects{
		ObjectConvertor: kinds.Scheme(), view: view, served: served,
		kind: schema.GroupVersionKind{Group: view.Group, Version: view.Version, Kind: view.Kind},
	}
}

// typed returns the object of a plugin; nil for nil.
func (o *objects) typed(object map[string]any) (runtime.Object, error) {
	switch {
	case object == nil:
		return nil, nil
	case o.view.GoType == nil:
		return untyped(object, o.kind), nil
	}
	out := reflect.New(reflect.TypeOf(o.view.GoType)).Interface().(runtime.Object) // every GoType is one
	if err := gotype.Decode(object, out); err != nil {
		return nil, err
	}
	kinds.Scheme().Default(out)
	out.GetObjectKind().SetGroupVersionKind(o.kind)
	return out, nil
}

func untyped(object map[string]any, kind schema.GroupVersionKind) runtime.Object {
	out := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	out.SetGroupVersionKind(kind)
	return out
}

// content returns the JSON of an object of a plugin.
func content(object runtime.Object) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

// GetObjectCreater implements apiserver.ObjectInterfaces.
func (o *objects) GetObjectCreater() runtime.ObjectCreater { return o }

// GetObjectTyper implements apiserver.ObjectInterfaces.
func (*objects) GetObjectTyper() runtime.ObjectTyper { return kinds.Scheme() }

// GetObjectDefaulter implements apiserver.ObjectInterfaces.
func (o *objects) GetObjectDefaulter() runtime.ObjectDefaulter { return o }

// GetObjectConvertor implements apiserver.ObjectInterfaces.
func (o *objects) GetObjectConvertor() runtime.ObjectConvertor { return o }

// GetEquivalentResourceMapper implements apiserver.ObjectInterfaces.
func (o *objects) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return equivalents{o.served}
}

// New implements runtime.ObjectCreater.
func (o *objects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if o.view.GoType != nil {
		return kinds.Scheme().New(kind)
	}
	return untyped(map[string]any{}, kind), nil
}

// Default implements runtime.ObjectDefaulter.
func (o *objects) Default(object runtime.Object) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		kinds.Scheme().Default(object)
		return
	}
	of := o.served.Lookup(o.view.Group, u.GroupVersionKind().Version, o.view.Plural) // a plugin may have asked for another version
	if of != nil && of.Schema != nil {
		_, _ = of.Schema.Complete(u.Object) // the validation that follows finds what it cannot complete
	}
}

// Convert implements runtime.ObjectConvertor: an object replaces another one of its type.
func (o *objects) Convert(in, out, context any) error {
	from, isUntyped := in.(*unstructured.Unstructured)
	to, intoUntyped := out.(*unstructured.Unstructured)
	switch {
	case isUntyped && intoUntyped:
		return o.convertUntyped(from, to)
	case reflect.TypeOf(in) == reflect.TypeOf(out):
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
	default:
		return o.ObjectConvertor.Convert(in, out, context)
	}
	return nil
}

// convertUntyped sets a custom resource to another one in its own version. Without a webhook versions differ in their apiVersion only.
func (o *objects) convertUntyped(from, to *unstructured.Unstructured) (err error) {
	version := to.GroupVersionKind().GroupVersion()
	if o.view.Convert != nil && from.GroupVersionKind().GroupVersion() != version {
		to.Object, err = o.view.Convert(from.Object, version)
		return err
	}
	to.Object = runtime.DeepCopyJSON(from.Object)
	to.SetAPIVersion(version.String())
	return nil
}

// equivalents implements runtime.EquivalentResourceMapper: the versions of a resource are equivalent.
type equivalents struct{ served *resource.Registry }

func (e equivalents) EquivalentResourcesFor(of schema.GroupVersionResource, _ string) (out []schema.GroupVersionResource) {
	for _, res := range e.served.All() {
		if res.Group == of.Group && res.Plural == of.Resource {
			out = append(out, schema.GroupVersionResource{Group: res.Group, Version: res.Version, Resource: res.Plural})
		}
	}
	return out
}

func (e equivalents) KindFor(of schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	res := e.served.Lookup(of.Group, of.Version, of.Resource)
	if res == nil {
		return schema.GroupVersionKind{}
	}
	view := resource.Ref{Resource: res, Subresource: subresource}.ViewKind()
	return schema.GroupVersionKind{Group: view.Group, Version: view.Version, Kind: view.Kind}
}
