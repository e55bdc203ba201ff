package clients

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"revtail/gateway/gatewaytest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const namespace = "default"

// watchList is whether this process's client-go begins with a watch that has the state in it, or with a list.
var watchList = features.FeatureGates().Enabled(features.WatchListClient)

// client is client-go with a record of its requests.
type client struct {
	config   *rest.Config
	requests requests
}

// newClient makes a client of a gateway. Its connections are closed with the test.
func newClient(t *testing.T, gw *gatewaytest.Gateway) *client {
	t.Helper()
	c := &client{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c.requests.next = transport
	c.config = &rest.Config{Host: gw.URL, Transport: &c.requests, QPS: -1}
	return c
}

func (c *client) dynamic(t *testing.T) dynamic.Interface {
	t.Helper()
	d, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// configMaps returns the client of the ConfigMaps of the namespace, as JSON.
func (c *client) configMaps(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	return c.dynamic(t).Resource(configMaps).Namespace(namespace)
}

func (c *client) typed(t *testing.T) kubernetes.Interface {
	t.Helper()
	k, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// protobuf returns a typed client that writes and reads protobuf, as those of Kubernetes' components do.
func (c *client) protobuf(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	k, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (c *client) metadata(t *testing.T) metadata.Interface {
	t.Helper()
	m, err := metadata.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// create creates a ConfigMap with a value. Its metadata have it too, for clients that read only metadata.
func create(t *testing.T, maps dynamic.ResourceInterface, name, value string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "data": map[string]any{"value": value},
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"value": value}},
	}}
	created, err := maps.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func update(t *testing.T, maps dynamic.ResourceInterface, name, value string) *unstructured.Unstructured {
	t.Helper()
	object, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err == nil {
		object.SetAnnotations(map[string]string{"value": value})
		err = unstructured.SetNestedField(object.Object, value, "data", "value")
	}
	if err == nil {
		object, err = maps.Update(t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func remove(t *testing.T, maps dynamic.ResourceInterface, name string) {
	t.Helper()
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// value returns the value of a ConfigMap, in any form of a client.
func value(o any) string {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		return o.Data["value"]
	case *unstructured.Unstructured:
		v, _, _ := unstructured.NestedString(o.Object, "data", "value")
		return v
	default:
		return accessor(o).GetAnnotations()["value"]
	}
}

// accessor returns the metadata of an object in any form.
func accessor(o any) metav1.Object {
	object, err := meta.Accessor(o)
	if err != nil {
		panic(err) // clients return only objects
	}
	return object
}

// requests is a transport that records the requests through it.
type requests struct {
	next http.RoundTripper

	mu   sync.Mutex // guards the field below
	seen []*url.URL
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		r.mu.Lock()
		r.seen = append(r.seen, req.URL)
		r.mu.Unlock()
	}
	return r.next.RoundTrip(req)
}

// expectState checks how many times a resource's whole state was requested, and that it was by the method of this client-go: with a watch
// that begins with the state, or with a list.
func (r *requests) expectState(t *testing.T, resource string, times int) {
	t.Helper()
	states := r.states(resource)
	other := slices.ContainsFunc(states, func(query string) bool { return strings.Contains(query, "sendInitialEvents=true") != watchList })
	if len(states) != times || other {
		t.Errorf("the state of %s was asked for with %q, want %d times, and watches: %v", resource, states, times, watchList)
	}
}

// states returns the queries for the whole state of a resource: lists, and watches that begin with it.
func (r *requests) states(resource string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, u := range r.seen {
		query := u.Query()
		collection := strings.HasSuffix(u.Path, "/"+resource)
		if collection && (query.Get("watch") != "true" || query.Get("sendInitialEvents") == "true") {
			out = append(out, u.RawQuery)
		}
	}
	return out
}

// resumed reports whether a watch was opened from a revision.
func (r *requests) resumed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.seen, func(u *url.URL) bool {
		query := u.Query()
		return query.Get("watch") == "true" && query.Get("resourceVersion") != "" && query.Get("sendInitialEvents") == ""
	})
}
