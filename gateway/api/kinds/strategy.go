package kinds

import (
	"context"
	"maps"

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
	update := s.updateOf(subresource)
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

// updateOf returns the strategy of a write to a subresource, or to the object itself.
func (s *strategy) updateOf(subresource string) updateStrategy {
	if subresource == resource.StatusSubresource {
		return s.status
	}
	if whole, ok := s.whole[subresource]; ok {
		return whole
	}
	if subresource == resource.BindingSubresource || subresource == resource.EvictionSubresource {
		return unchecked{s.object}
	}
	return s.object
}

// unchecked is the strategy of a change that the server makes itself, and not a client: nothing is completed or checked, as in a cluster.
type unchecked struct{ objectStrategy }

func (unchecked) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

func (unchecked) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

func (unchecked) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// incomplete reports whether a stored object lacks a required field, because an earlier release accepted it. An update may change the
// immutable fields of such an object: the selector of a Deployment is one, and a Deployment without it could not be completed.
// Which fields are required depends on the version, for events: that of stored objects counts.
func (s *strategy) incomplete(ctx context.Context, object map[string]any) bool {
	stored, err := s.internal(object)
	if err != nil {
		return false
	}
	if info, ok := genericrequest.RequestInfoFrom(ctx); ok {
		of := *info
		of.APIGroup, of.APIVersion = s.resource.Stored().Group, s.resource.Stored().Version
		ctx = genericrequest.WithRequestInfo(ctx, &of)
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

// internal returns an object in the type of which Kubernetes' strategies are: see decode.
func (s *strategy) internal(object map[string]any) (runtime.Object, error) {
	return decode(object, s.kind)
}

// replace sets an object to the contents of an internal one. It keeps the managed fields.
func (s *strategy) replace(object map[string]any, internal runtime.Object) error {
	return replace(object, internal, s.kind)
}

func replace(object map[string]any, internal runtime.Object, kind schema.GroupVersionKind) error {
	typed, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return err
	}
	legacyscheme.Scheme.Default(typed) // kube-apiserver sets the defaults of what it reads: the strategy may have removed some
	contents, err := encode(typed, kind, object)
	if err != nil {
		return err
	}
	clear(object)
	maps.Copy(object, contents)
	return nil
}
