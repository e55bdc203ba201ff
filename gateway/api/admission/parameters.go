package admission

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/informer"
)

// dynamicClient reads the parameters of policies.
type dynamicClient struct{ catalog *catalog.Catalog }

// IsWatchListSemanticsUnSupported is that of source.
func (dynamicClient) IsWatchListSemanticsUnSupported() bool { return true }

// Resource implements dynamic.Interface.
func (c dynamicClient) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return parameters{source: &informer.Source{Catalog: c.catalog, Resource: gvr, Make: func() runtime.Object { return &unstructured.Unstructured{} }}}
}

// parameters are the objects of a resource, of all namespaces or of one. It has the methods that plugins call.
type parameters struct {
	dynamic.NamespaceableResourceInterface
	source *informer.Source
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (p parameters) Namespace(name string) dynamic.ResourceInterface {
	own := *p.source
	own.Namespace = name
	return parameters{source: &own}
}

// List implements dynamic.ResourceInterface.
func (p parameters) List(ctx context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := p.source.Objects(ctx)
	if err != nil {
		return nil, err
	}
	out := &unstructured.UnstructuredList{Object: map[string]any{}}
	out.SetResourceVersion(informer.FormatRevision(list.Revision))
	for o := range list.Objects {
		if object, err := p.source.Decode(o); err == nil {
			out.Items = append(out.Items, *object.(*unstructured.Unstructured)) // the source makes these
		}
	}
	return out, nil
}

// Watch implements dynamic.ResourceInterface.
func (p parameters) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return p.source.Watch(options)
}

// Get returns a parameter that the informer does not have yet.
func (p parameters) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	object, err := p.source.Newest(ctx, name)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return nil, apierrors.NewNotFound(p.source.Resource.GroupResource(), name)
	}
	decoded, err := p.source.Decode(object)
	if err != nil {
		return nil, err
	}
	return decoded.(*unstructured.Unstructured), nil // the source makes these
}
