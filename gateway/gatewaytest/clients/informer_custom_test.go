package clients

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// group is the API group of the kinds of the tests.
const group = "test.example.com"

// anything is a version of a custom kind with any fields.
const anything = `
name: v1
served: true
storage: true
schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`

// define defines a custom kind in one version, and waits until it is served.
func define(t *testing.T, c *client, plural, kind, version string) schema.GroupVersionResource {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(version), &v); err != nil {
		t.Fatal(err)
	}
	name := plural + "." + group
	definition := &unstructured.Unstructured{Object: map[string]any{
		"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind}, "versions": []any{v},
		},
	}}
	all := c.dynamic(t).Resource(definitions)
	if _, err := all.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "a kind that is served", func() bool {
		got, err := all.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return established(got)
	})
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}

// TestInformerCustom checks that an informer of a custom kind gets the deletion of the objects when their definition is deleted, then the
// error that the kind does not exist, and continues when it is defined again.
func TestInformerCustom(t *testing.T) {
	t.Parallel()
	c := newClient(t, gatewaytest.Start(t))
	widgets := define(t, c, "widgets", "Widget", anything)
	i := &informer{client: c}
	i.SharedIndexInformer = dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic(t), 0).ForResource(widgets).Informer()
	gone := make(chan struct{}, 1000)
	err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			gone <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	i.run(t)
	objects := c.dynamic(t).Resource(widgets).Namespace(namespace)
	for n := range 3 {
		createWidget(t, objects, fmt.Sprint("w-", n))
	}
	i.expect(t, "add w-0 1", "add w-1 1", "add w-2 1")

	if err := c.dynamic(t).Resource(definitions).Delete(t.Context(), "widgets."+group, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	i.expectState(t, "delete w-0 1", "delete w-1 1", "delete w-2 1")
	gatewaytest.Until(t, "an informer that knows that its kind is gone", func() bool { return len(gone) > 0 })
	define(t, c, "widgets", "Widget", anything)
	createWidget(t, objects, "again")
	i.expect(t, "add again 1")
}

func createWidget(t *testing.T, objects dynamic.ResourceInterface, name string) {
	t.Helper()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Widget", "apiVersion": group + "/v1", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": "1"},
	}}
	if _, err := objects.Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
