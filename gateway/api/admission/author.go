package admission

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// author is the kinds.Author of a client's request.
type author struct{ chain *Chain }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (a author) Authorize(ctx context.Context, about authorizer.Attributes) (authorizer.Decision, string, error) {
	return a.chain.Authorizer.Authorize(ctx, about)
}

// Resolve implements kinds.Author.
func (a author) Resolve(kind schema.GroupVersionKind) string {
	mapping, err := restMapper{catalog: a.chain.Catalog}.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return ""
	}
	return mapping.Resource.Resource
}

// Policy implements kinds.Author.
func (a author) Policy(_ context.Context, plural, name string, into any) error {
	now := a.chain.Catalog.Current()
	object := now.Caches[now.Registry.Lookup(group.Group, group.Version, plural)].Peek(name)
	if object == nil || !object.Shown() {
		return apierrors.NewNotFound(schema.GroupResource{Group: group.Group, Resource: plural}, name)
	}
	return json.Unmarshal(object.JSON, into)
}

// Namespace implements kinds.Author.
func (a author) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return newestNamespace(ctx, a.chain.Catalog, name)
}
