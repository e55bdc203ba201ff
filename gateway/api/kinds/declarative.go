package kinds

import (
	"context"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// declarative runs the declarative validation of a strategy on objects that share the memory of the internal ones, because rules change nothing.
// Kubernetes copies both objects first.
type declarative struct {
	rest.DeclarativeValidationStrategy
}

// ValidateDeclaratively implements rest.DeclarativeValidationStrategy. An object with errors is left to Kubernetes.
func (d declarative) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, errs field.ErrorList, op operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	if len(errs) == 0 && config.SubresourceGVKMapper == nil && isValid(ctx, object, old, op, config.Options) {
		return nil
	}
	return d.DeclarativeValidationStrategy.ValidateDeclaratively(ctx, object, old, errs, op, config)
}

// isValid reports whether an object follows the rules of its kind in the version of the request. A rule that panics is not followed.
func isValid(ctx context.Context, object, old runtime.Object, op operation.Type, options map[string]bool) (valid bool) {
	defer func() { _ = recover() }()
	info, ok := genericrequest.RequestInfoFrom(ctx)
	if !ok {
		return false
	}
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	next, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, version)
	if err != nil {
		return false
	}
	var subresources []string
	if info.Subresource != "" {
		subresources = strings.Split(info.Subresource, "/")
	}
	if op == operation.Create {
		return len(legacyscheme.Scheme.Validate(ctx, options, next, subresources...)) == 0
	}
	before, err := legacyscheme.Scheme.UnsafeConvertToVersion(old, version)
	return err == nil && len(legacyscheme.Scheme.ValidateUpdate(ctx, options, next, before, subresources...)) == 0
}

// declarativeObject and declarativeUpdate are strategies with a declarative validation.
type (
	declarativeObject struct {
		objectStrategy
		declarative
	}
	declarativeUpdate struct {
		updateStrategy
		declarative
	}
)

// shareCopies makes the declarative validations of a strategy cheaper.
func (s *strategy) shareCopies() {
	if d, ok := s.object.(rest.DeclarativeValidationStrategy); ok {
		s.object = declarativeObject{s.object, declarative{d}}
	}
	s.status = sharingCopies(s.status)
	s.whole = maps.Clone(s.whole)
	for subresource, update := range s.whole {
		s.whole[subresource] = sharingCopies(update)
	}
}

func sharingCopies(s updateStrategy) updateStrategy {
	if d, ok := s.(rest.DeclarativeValidationStrategy); ok {
		return declarativeUpdate{s, declarative{d}}
	}
	return s
}
