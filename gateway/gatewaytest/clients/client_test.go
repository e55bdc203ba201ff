package clients

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"revtail/gateway/gatewaytest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const namespace = "default"

// client is client-go, and what it asked for.
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

// configMaps are those of the namespace, written and read as JSON.
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

func create(t *testing.T, maps dynamic.ResourceInterface, name, value string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": value},
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

// requests is a transport that notes what goes through it.
type requests struct {
	next http.RoundTripper

	mu   sync.Mutex // guards the field below
	seen []*url.URL
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.seen = append(r.seen, req.URL)
	r.mu.Unlock()
	return r.next.RoundTrip(req)
}

// lists are the requests that ask for the whole state: lists, and watches that begin with it.
func (r *requests) lists() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, u := range r.seen {
		query := u.Query()
		collection := strings.HasSuffix(u.Path, "/configmaps")
		if collection && (query.Get("watch") != "true" || query.Get("sendInitialEvents") == "true") {
			out = append(out, u.RawQuery)
		}
	}
	return out
}

// resumed tells whether a watch was opened from a revision.
func (r *requests) resumed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.seen, func(u *url.URL) bool {
		query := u.Query()
		return query.Get("watch") == "true" && query.Get("resourceVersion") != "" && query.Get("sendInitialEvents") == ""
	})
}
