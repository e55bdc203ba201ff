package clients

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

// widgetKind and gadgetKind are the custom resources of testdata/kubernetes/definitions.yaml.
var (
	widgetKind = schema.GroupVersionKind{Group: "proof.example.com", Version: "v1", Kind: "Widget"}
	gadgetKind = schema.GroupVersionKind{Group: "proof.example.com", Version: "v1", Kind: "Gadget"}
	mapKind    = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// world is the objects that a kube-apiserver has: many kinds, with owners.
type world struct {
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	objects int
}

// populate gives a kube-apiserver a world. No controller runs, so that none of it changes afterwards.
func populate(t *testing.T, server *gatewaytest.KubeAPIServer) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: server.TLS}
	t.Cleanup(transport.CloseIdleConnections)
	c := &client{config: &rest.Config{Host: server.URL, BearerToken: server.Token, Transport: transport, QPS: -1}}
	w := &world{dynamic: c.dynamic(t)}
	w.learn(t, c.config, mapKind.GroupKind())
	for _, object := range manifest(t, "definitions.yaml", "") {
		w.create(t, object, "")
	}
	w.learn(t, c.config, widgetKind.GroupKind())
	w.learn(t, c.config, gadgetKind.GroupKind())
	var owners []*unstructured.Unstructured
	for _, object := range manifest(t, "cluster.yaml", "") {
		owners = append(owners, w.create(t, object, ""))
	}
	for _, namespace := range []string{"default", "kube-system", "owner"} {
		w.fill(t, namespace, owners)
	}
	w.end(t)
	t.Logf("%d objects", w.objects)
}

// fill creates an object of every kind in a namespace, and for each of them, and for the owners, a ConfigMap and a custom resource.
func (w *world) fill(t *testing.T, namespace string, owners []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range manifest(t, "namespaced.yaml", namespace) {
		created := w.create(t, object, namespace)
		if created.GetKind() != "Event" { // it must not own anything
			owners = append(owners, created)
		}
	}
	for _, owner := range owners {
		name := "of-" + strings.ToLower(owner.GetKind())
		w.create(t, newObject(mapKind, name, owner), namespace)
		w.create(t, newObject(widgetKind, name, owner), namespace)
		if owner.GetKind() == "Deployment" || owner.GetKind() == "Widget" {
			w.create(t, newObject(gadgetKind, name, owner), namespace)
		}
	}
	gone := newObject(mapKind, "gone")
	gone.SetUID("00000000-0000-0000-0000-000000000001")
	for _, kind := range []schema.GroupVersionKind{mapKind, widgetKind, gadgetKind} {
		w.create(t, newObject(kind, "without-owner", gone), namespace)
	}
}

// end creates objects that are being deleted, and stay because their finalizers are never removed.
func (w *world) end(t *testing.T) {
	t.Helper()
	w.create(t, newObject(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "ending"), "")
	for _, kind := range []schema.GroupVersionKind{mapKind, widgetKind, gadgetKind} {
		for _, namespace := range []string{"ending", "default"} {
			held := newObject(kind, "held")
			held.SetFinalizers([]string{"proof.example.com/keep"})
			held = w.create(t, held, namespace)
			w.create(t, newObject(widgetKind, "of-held-"+strings.ToLower(kind.Kind), held), namespace)
			w.delete(t, held, metav1.DeletePropagationBackground)
			for name, propagation := range map[string]metav1.DeletionPropagation{
				"foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
			} {
				owner := w.create(t, newObject(kind, name), namespace)
				w.create(t, newObject(widgetKind, "of-"+name+"-"+strings.ToLower(kind.Kind), owner), namespace)
				w.delete(t, owner, propagation)
			}
		}
	}
	pod := manifest(t, "namespaced.yaml", namespace)[5]
	pod.SetName("ending")
	w.delete(t, w.create(t, pod, namespace), metav1.DeletePropagationBackground)
	w.delete(t, newObject(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "ending"), metav1.DeletePropagationBackground)
}

// newObject returns an object with little more than its owner.
func newObject(kind schema.GroupVersionKind, name string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	var references []metav1.OwnerReference
	for _, owner := range owners {
		references = append(references, metav1.OwnerReference{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: ptr.To(true),
		})
	}
	object.SetOwnerReferences(references)
	return object
}

// learn waits until a kube-apiserver serves a kind.
func (w *world) learn(t *testing.T, config *rest.Config, kind schema.GroupKind) {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, fmt.Sprintf("%v is served", kind), func() bool {
		groups, err := restmapper.GetAPIGroupResources(d)
		if err != nil {
			t.Fatal(err)
		}
		w.mapper = restmapper.NewDiscoveryRESTMapper(groups)
		_, err = w.mapper.RESTMapping(kind)
		return err == nil
	})
}

func (w *world) resource(t *testing.T, object *unstructured.Unstructured, namespace string) dynamic.ResourceInterface {
	t.Helper()
	kind := object.GroupVersionKind()
	mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	return w.dynamic.Resource(mapping.Resource).Namespace(namespace)
}

func (w *world) create(t *testing.T, object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	t.Helper()
	created, err := w.resource(t, object, namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	w.objects++
	return created
}

func (w *world) delete(t *testing.T, object *unstructured.Unstructured, propagation metav1.DeletionPropagation) {
	t.Helper()
	resource := w.resource(t, object, object.GetNamespace())
	if err := resource.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if left, err := resource.Get(t.Context(), object.GetName(), metav1.GetOptions{}); err != nil || left.GetDeletionTimestamp() == nil {
		t.Fatalf("%s %s: want it to exist with a deletionTimestamp: %v", object.GetKind(), object.GetName(), err)
	}
}

// manifest reads objects from a file of testdata/kubernetes.
func manifest(t *testing.T, file, namespace string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("testdata/kubernetes/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(strings.ReplaceAll(string(text), "$NAMESPACE", namespace), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, object)
	}
	return objects
}
