package clients

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// TestInformerFactories runs shared factories with an informer for every discovered resource, fifty at once: typed ones in protobuf for the kinds of
// client-go, dynamic ones for the others. All get the changes, and no watch is left.
func TestInformerFactories(t *testing.T) {
	t.Parallel()
	const resources = 50
	gw := gatewaytest.Start(t)
	c := newClient(t, gw)
	for n := 0; len(discover(t, c)) < resources; n++ {
		define(t, c, fmt.Sprintf("things%d", n), fmt.Sprintf("Thing%d", n), anything)
	}
	served := discover(t, c)
	f := startFactories(t, c, served)
	valid, probes := validObjects(t), make(map[schema.GroupVersionResource]string)
	for _, resource := range served {
		probes[resource.GroupVersionResource] = probe(t, c, resource, valid[resource.kind()])
	}
	for _, resource := range served {
		gatewaytest.Until(t, "what happened to "+resource.String(), func() bool { return f.saw(resource, probes[resource.GroupVersionResource]) })
		c.requests.expectState(t, resource.path(), 1)
	}
	f.stop()
	gatewaytest.Until(t, "a gateway without watches", func() bool { return watchers(t, gw) == 0 })
}

// served is a resource in discovery.
type served struct {
	schema.GroupVersionResource
	metav1.APIResource
}

func (s served) String() string { return s.Resource + " of " + s.GroupVersionResource.Group }

func (s served) kind() schema.GroupVersionKind {
	return s.GroupVersionResource.GroupVersion().WithKind(s.Kind)
}

// path returns the path of the collection of all objects.
func (s served) path() string {
	if s.GroupVersionResource.Group == "" {
		return "api/" + s.GroupVersionResource.Version + "/" + s.Resource
	}
	return "apis/" + s.GroupVersionResource.Group + "/" + s.GroupVersionResource.Version + "/" + s.Resource
}

// discover returns the resources that can be watched.
func discover(t *testing.T, c *client) []served {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := d.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var out []served
	for _, group := range groups {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "watch") {
				out = append(out, served{gv.WithResource(resource.Name), resource})
			}
		}
	}
	return out
}

// factories are shared informers that run.
type factories struct {
	stop func()

	mu   sync.Mutex       // guards the field below
	told map[key][]string // calls of the handlers
}

// key is the resource and the name of an object.
type key struct {
	schema.GroupVersionResource
	name string
}

// startFactories runs an informer for each resource until the test ends, or stop, and waits until all have synced.
func startFactories(t *testing.T, c *client, resources []served) *factories {
	t.Helper()
	f := &factories{told: make(map[key][]string)}
	typed := informers.NewSharedInformerFactory(c.protobuf(t), 0)
	others := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic(t), 0)
	for _, resource := range resources {
		informer, err := typed.ForResource(resource.GroupVersionResource)
		if err != nil {
			informer = others.ForResource(resource.GroupVersionResource)
		}
		if _, err := informer.Informer().AddEventHandler(f.handler(resource.GroupVersionResource)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = sync.OnceFunc(func() {
		cancel()
		typed.Shutdown()
		others.Shutdown()
	})
	t.Cleanup(f.stop)
	typed.Start(ctx.Done())
	others.Start(ctx.Done())
	for of, synced := range typed.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v has not synced", of)
		}
	}
	for of, synced := range others.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v has not synced", of)
		}
	}
	return f
}

func (f *factories) handler(resource schema.GroupVersionResource) cache.ResourceEventHandler {
	tell := func(what string, o any) {
		object := accessor(o)
		f.mu.Lock()
		defer f.mu.Unlock()
		of := key{resource, object.GetName()}
		f.told[of] = append(f.told[of], what+object.GetAnnotations()["value"])
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tell("add", o) },
		UpdateFunc: func(_, o any) { tell("update", o) },
		DeleteFunc: func(o any) { tell("delete", o) },
	}
}

// saw reports whether a resource's handlers were called for all changes of a probe. The server may change it too, so that there are more
// updates.
func (f *factories) saw(resource served, probe string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	told := f.told[key{resource.GroupVersionResource, probe}]
	return len(told) > 0 && told[0] == "add" && slices.Contains(told, "updatechanged") && told[len(told)-1] == "deletechanged"
}

// validObjects returns an object of each built-in kind that has rules of its own.
func validObjects(t *testing.T) map[schema.GroupVersionKind]*unstructured.Unstructured {
	t.Helper()
	objects := make(map[schema.GroupVersionKind]*unstructured.Unstructured)
	for _, object := range gatewaytest.ReadManifest(t, "../testdata/kinds.yaml") {
		objects[object.GroupVersionKind()] = object
	}
	return objects
}

// probe creates an object of a resource, changes it and deletes it, and returns its name. Where any object is valid, it may be nil.
func probe(t *testing.T, c *client, resource served, object *unstructured.Unstructured) string {
	t.Helper()
	var objects dynamic.ResourceInterface = c.dynamic(t).Resource(resource.GroupVersionResource)
	if resource.Namespaced {
		objects = c.dynamic(t).Resource(resource.GroupVersionResource).Namespace(namespace)
	}
	if object == nil {
		object = &unstructured.Unstructured{}
		object.SetGroupVersionKind(resource.kind())
		object.SetName("probe")
	}
	if resource.GroupVersionResource == definitions {
		object.SetName("probes." + group)
		define(t, c, "probes", "Probe", anything)
	} else if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"annotations":{"value":"changed"}}}`)
	if _, err := objects.Patch(t.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return object.GetName()
}

// watchers returns the number of open watches of a gateway.
func watchers(t *testing.T, gw *gatewaytest.Gateway) int {
	t.Helper()
	sum := 0
	for line := range strings.Lines(gw.Do(t, http.MethodGet, "/metrics", "").Body) {
		if !strings.HasPrefix(line, "revtail_watchers{") {
			continue
		}
		fields := strings.Fields(line)
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
