package kinds

import (
	"context"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"revtail/gateway/resource"
)

// objectStrategy is what a package of k8s.io/kubernetes/pkg/registry says about creating and replacing objects of a kind.
type objectStrategy interface {
	rest.RESTCreateStrategy
	updateStrategy
}

// updateStrategy is rest.RESTUpdateStrategy: Kubernetes has one for the object, and one for its status.
type updateStrategy = rest.RESTUpdateStrategy

// strategy is the resource.Strategy of a kind.
type strategy struct {
	resource *resource.Resource
	kind     schema.GroupVersionKind
	goType   reflect.Type
	object   objectStrategy
	status   updateStrategy
	whole    map[string]updateStrategy // of the subresources that resource.Resource.Whole names
	zero     map[string]any            // is never changed
}

// Create implements resource.Strategy.
func (s *strategy) Create(ctx context.Context, object map[string]any) ([]string, error) {
	next, err := s.internal(object)
	if err != nil {
		return nil, err
	}
	ctx, warnings := s.context(ctx, "create", "", object)
	if err = rest.BeforeCreate(s.object, ctx, next); err != nil {
		return *warnings, err
	}
	return *warnings, s.replace(object, next)
}

// Update implements resource.Strategy.
func (s *strategy) Update(ctx context.Context, subresource string, object, old map[string]any) ([]string, error) {
	next, err := s.internal(object)
	if err != nil {
		return nil, err
	}
	before, err := s.internal(old)
	if err != nil && subresource == "" { // another program has stored what is no object of the kind: any valid object may replace it
		before, err = next.DeepCopyObject(), nil
	}
	if err != nil {
		return nil, err
	}
	ctx, warnings := s.context(ctx, "update", subresource, object)
	update := updateStrategy(s.object)
	if subresource == resource.StatusSubresource {
		update = s.status
	} else if whole, ok := s.whole[subresource]; ok {
		update = whole
	}
	err = rest.BeforeUpdate(update, ctx, next, before)
	if err != nil && subresource == "" && s.incomplete(ctx, old) {
		if next, err = s.internal(object); err == nil {
			err = rest.BeforeUpdate(update, ctx, next, next.DeepCopyObject())
		}
	}
	if err != nil {
		return *warnings, err
	}
	return *warnings, s.replace(object, next)
}

// incomplete reports whether a stored object lacks a required field, because an earlier release accepted it. An update may change the
// immutable fields of such an object: the selector of a Deployment is one, and a Deployment without it could not be completed.
func (s *strategy) incomplete(ctx context.Context, object map[string]any) bool {
	stored, err := s.internal(object)
	if err != nil {
		return false
	}
	for _, err := range s.object.Validate(ctx, stored) {
		if err.Type == field.ErrorTypeRequired {
			return true
		}
	}
	return false
}

// context returns what strategies read of a request, and the warnings that they give.
func (s *strategy) context(ctx context.Context, verb, subresource string, object map[string]any) (context.Context, *[]string) {
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	ctx = genericrequest.WithNamespace(ctx, namespace)
	ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: s.kind.Group, APIVersion: s.kind.Version, Resource: s.resource.Plural,
		Subresource: subresource, Namespace: namespace, Name: name,
	})
	recorded := new(recorder)
	return warning.WithWarningRecorder(ctx, recorded), (*[]string)(recorded)
}

// recorder collects warnings.
type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// internal returns an object, with its defaults, in the type of which Kubernetes' strategies are. Managed fields are left out: they have
// no meaning for a strategy, and can be the largest part of an object.
func (s *strategy) internal(object map[string]any) (runtime.Object, error) {
	if metadata, ok := object["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		object = maps.Clone(object)
		object["metadata"] = metadata
	}
	typed, err := legacyscheme.Scheme.New(s.kind)
	if err != nil {
		return nil, err
	}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed); err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(typed)
	return legacyscheme.Scheme.UnsafeConvertToVersion(typed, schema.GroupVersion{Group: s.kind.Group, Version: runtime.APIVersionInternal})
}

// replace sets an object to the contents of an internal one. It keeps the managed fields.
func (s *strategy) replace(object map[string]any, internal runtime.Object) error {
	typed, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, s.kind.GroupVersion())
	if err != nil {
		return err
	}
	legacyscheme.Scheme.Default(typed) // kube-apiserver sets the defaults of what it reads: the strategy may have removed some
	contents, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return err
	}
	if hasNull(contents) {
		fillNulls(contents, s.goType)
	}
	metadata, _ := object["metadata"].(map[string]any)
	if managed := metadata["managedFields"]; managed != nil {
		contents["metadata"].(map[string]any)["managedFields"] = managed // every object has metadata
	}
	clear(object)
	maps.Copy(object, contents)
	object["apiVersion"], object["kind"] = s.kind.GroupVersion().String(), s.kind.Kind
	return nil
}
