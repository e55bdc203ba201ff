package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

const apiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices"

// serveCluster starts a gateway that has the objects of every cluster from the start.
func serveCluster(t *testing.T, store *memory.Store) *testServer {
	t.Helper()
	return serveLogged(t, store, Options{Store: store, CreateNamespaces: true, Logger: slog.New(slog.DiscardHandler)})
}

// apiServices returns the APIServices by name.
func (s *testServer) apiServices() map[string]*unstructured.Unstructured {
	s.t.Helper()
	out := make(map[string]*unstructured.Unstructured)
	for _, item := range s.must(http.StatusOK, http.MethodGet, apiServicesPath, "")["items"].([]any) {
		object := &unstructured.Unstructured{Object: item.(map[string]any)}
		out[object.GetName()] = object
	}
	return out
}

// awaitAPIService waits until there is an APIService, or none, of a name.
func (s *testServer) awaitAPIService(name string, exists bool) {
	s.t.Helper()
	await(s.t, fmt.Sprintf("the APIService %s: %t", name, exists), func() bool {
		return s.get(apiServicesPath+"/"+name).code == map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[exists]
	})
}

// available returns the condition Available of an APIService: "True Local".
func available(of map[string]any) string {
	conditions, _, _ := unstructured.NestedSlice(of, "status", "conditions") // nil if there are none
	for _, condition := range conditions {
		if c := condition.(map[string]any); c["type"] == "Available" {
			return fmt.Sprintf("%s %s", c["status"], c["reason"])
		}
	}
	return ""
}

// servedVersions returns the names of the APIServices that should be there: one for each group and version of discovery, except their own.
func (s *testServer) servedVersions() []string {
	s.t.Helper()
	names := []string{"v1."}
	for _, group := range s.must(http.StatusOK, http.MethodGet, "/apis", "")["groups"].([]any) {
		for _, version := range group.(map[string]any)["versions"].([]any) {
			name, number, _ := strings.Cut(version.(map[string]any)["groupVersion"].(string), "/")
			if name != "apiregistration.k8s.io" {
				names = append(names, number+"."+name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestAPIServicesOfServedVersions checks that there is a local APIService for each group and version that is served, and that those follow the
// CustomResourceDefinitions.
func TestAPIServicesOfServedVersions(t *testing.T) {
	t.Parallel()
	s := serveCluster(t, memory.New())
	names := func() []string {
		var names []string
		for name := range s.apiServices() {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	await(t, "an APIService for each version", func() bool { return slices.Equal(names(), s.servedVersions()) })
	for name, object := range s.apiServices() {
		if got := available(object.Object); got != "True Local" {
			t.Errorf("%s: Available is %q", name, got)
		}
		if got := object.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]; got != "onstart" {
			t.Errorf("%s is managed %q", name, got)
		}
	}
	s.define(widgetsDefinition)
	await(t, "the APIService of a definition", func() bool {
		return slices.Equal(names(), s.servedVersions()) && slices.Contains(names(), "v1.example.com")
	})
	defined := s.apiServices()["v1.example.com"]
	if diff := cmp.Diff(map[string]any{"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000.0, "versionPriority": 100.0}, defined.Object["spec"]); diff != "" {
		t.Errorf("the spec (-want +got):\n%s", diff)
	}
	if got := defined.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]; got != "true" {
		t.Errorf("it is managed %q", got)
	}
	s.must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
	s.awaitAPIService("v1.example.com", false)
}

// TestAPIServicesComeBack checks that deleted and changed APIServices of what is served come back, and that those of others stay as they are.
func TestAPIServicesComeBack(t *testing.T) {
	t.Parallel()
	s := serveCluster(t, memory.New())
	s.awaitAPIService("v1.apps", true)
	s.define(widgetsDefinition)
	s.awaitAPIService("v1.example.com", true)
	before := s.apiServices()
	for _, name := range []string{"v1.apps", "v1.example.com"} {
		s.must(http.StatusOK, http.MethodDelete, apiServicesPath+"/"+name, "")
		await(t, name+" again", func() bool {
			now := s.apiServices()[name]
			return now != nil && now.GetUID() != before[name].GetUID()
		})
	}
	const patch = "application/merge-patch+json"
	s.must(http.StatusOK, http.MethodPatch, apiServicesPath+"/v1.example.com", `{"spec":{"versionPriority":7}}`, "Content-Type", patch)
	await(t, "the old priority", func() bool {
		priority, _, _ := unstructured.NestedFloat64(s.apiServices()["v1.example.com"].Object, "spec", "versionPriority")
		return priority == 100
	})
	s.must(http.StatusCreated, http.MethodPost, apiServicesPath, apiService("v2.example.com", ""))
	s.must(http.StatusOK, http.MethodDelete, apiServicesPath+"/v1.batch", "")
	s.awaitAPIService("v1.batch", true) // so v2.example.com has been looked at
	s.awaitAPIService("v2.example.com", true)
}

// apiService returns an APIService of a group and version, with more members of its spec.
func apiService(name, more string) string {
	version, group, _ := strings.Cut(name, ".")
	return fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":%q},"spec":{"group":%q,"version":%q,"groupPriorityMinimum":100,"versionPriority":100%s}}`,
		name, group, version, more)
}

// TestAPIServicesOfOtherServers checks that revtail stores APIServices of other API servers, says that it forwards nothing, and forwards
// nothing.
func TestAPIServicesOfOtherServers(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const name, named = "v1beta1.metrics.example.com", `,"service":{"namespace":"kube-system","name":"metrics-server"},"insecureSkipTLSVerify":true`
	const path, patch = apiServicesPath + "/" + name, "application/merge-patch+json"
	check := func(what string, object map[string]any, want string) {
		t.Helper()
		if got := available(object); got != want {
			t.Errorf("%s: Available is %q, want %q", what, got, want)
		}
	}
	check("create", s.must(http.StatusCreated, http.MethodPost, apiServicesPath, apiService(name, named)), "False NotForwarded")
	if a := s.get("/apis/metrics.example.com/v1beta1/nodes"); a.code != http.StatusNotFound {
		t.Errorf("a request to that server: %d %s", a.code, a.body)
	}
	lies := `{"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Other","status":"True"}]}}`
	patched := s.must(http.StatusOK, http.MethodPatch, path+"/status", lies, "Content-Type", patch)
	check("a status of a client", patched, "False NotForwarded")
	if conditions, _, _ := unstructured.NestedSlice(patched, "status", "conditions"); len(conditions) != 2 {
		t.Errorf("the status of a client has the conditions %v, want its other one too", conditions)
	}
	check("local", s.must(http.StatusOK, http.MethodPatch, path, `{"spec":{"service":null,"insecureSkipTLSVerify":null}}`, "Content-Type", patch), "True Local")
	check("remote", s.must(http.StatusOK, http.MethodPatch, path, `{"spec":{"service":{"namespace":"a","name":"b"}}}`, "Content-Type", patch), "False NotForwarded")
	table := s.get(path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if want := `"cells":["v1beta1.metrics.example.com","a/b","False (NotForwarded)",`; !strings.Contains(table.body, want) {
		t.Errorf("the table lacks %s: %s", want, table.body)
	}
	s.must(http.StatusUnprocessableEntity, http.MethodPost, apiServicesPath, strings.Replace(apiService("v1.a.example.com", ""), `"v1.a.example.com"`, `"other"`, 1))
}

// TestAPIServicesOfReplicas checks that replicas create each APIService once.
func TestAPIServicesOfReplicas(t *testing.T) {
	t.Parallel()
	store := memory.New()
	replicas := []*testServer{serveCluster(t, store), serveCluster(t, store), serveCluster(t, store)}
	for _, s := range replicas {
		await(t, "the APIServices", func() bool { return len(s.apiServices()) == len(s.servedVersions()) })
	}
	replicas[0].define(widgetsDefinition)
	for _, s := range replicas {
		s.awaitAPIService("v1.example.com", true)
	}
	replicas[1].must(http.StatusOK, http.MethodDelete, apiServicesPath+"/v1.batch", "")
	for _, s := range replicas {
		s.awaitAPIService("v1.batch", true)
		await(t, "a replica that serves what has an APIService", func() bool { return len(s.apiServices()) == len(s.servedVersions()) })
	}
	page, err := store.List(t.Context(), "/registry/apiservices/", etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range page.KVs {
		if kv.Created != kv.Modified {
			t.Errorf("%s was created at %d, and written again at %d", kv.Key, kv.Created, kv.Modified)
		}
	}
	if got, want := len(page.KVs), len(replicas[2].servedVersions()); got != want {
		t.Errorf("%d keys, want %d", got, want)
	}
	replicas[2].must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
	for _, s := range replicas {
		s.awaitAPIService("v1.example.com", false)
	}
}
