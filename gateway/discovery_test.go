package gateway

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"revtail/etcdstore/memory"
	"revtail/gateway/config/buildinfo"
)

// describedServer returns a server of a version, without a listener.
func describedServer(t *testing.T, version string) *Server {
	t.Helper()
	s, err := New(Options{Store: memory.New(), Prefix: "/registry", Build: buildinfo.Info{Version: version}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	return s
}

// ask sends a GET; header is pairs of names and values.
func ask(t *testing.T, s *Server, url string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// askFor sends a GET that must succeed, and decodes the response into value.
func askFor(t *testing.T, s *Server, url string, value any, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := ask(t, s, url, header...)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", url, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), value); err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return w
}

func TestDiscoveryIsRevalidated(t *testing.T) {
	s := describedServer(t, "")
	for _, path := range []string{"/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"} {
		for _, accept := range []string{"application/json", acceptAggregated} {
			first := ask(t, s, path, "Accept", accept)
			etag := first.Header().Get("ETag")
			if len(etag) != 130 || etag[0] != '"' || etag[129] != '"' || strings.ToUpper(etag) != etag {
				t.Errorf("GET %s: ETag: %s", path, etag)
			}
			if got := first.Header().Get("Cache-Control"); got != "public" {
				t.Errorf("GET %s: Cache-Control: %s", path, got)
			}
			again := ask(t, s, path, "Accept", accept, "If-None-Match", `"other", `+etag)
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != etag {
				t.Errorf("GET %s with its ETag: %d, ETag %s, %d bytes", path, again.Code, again.Header().Get("ETag"), again.Body.Len())
			}
			if other := ask(t, s, path, "Accept", accept, "If-None-Match", `"other"`); other.Code != http.StatusOK {
				t.Errorf("GET %s with another ETag: %d", path, other.Code)
			}
		}
	}
	plain, aggregated := ask(t, s, "/apis"), ask(t, s, "/apis", "Accept", acceptAggregated)
	if plain.Header().Get("ETag") == aggregated.Header().Get("ETag") {
		t.Error("both forms have the same ETag")
	}
}

// TestDiscoveryInYAML checks that the documents are the same in YAML, with another ETag, because an ETag belongs to the bytes sent.
func TestDiscoveryInYAML(t *testing.T) {
	s := describedServer(t, "")
	for _, path := range []string{"/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"} {
		var want, got any
		plain := askFor(t, s, path, &want, "Accept", "application/json")
		w := ask(t, s, path, "Accept", "application/yaml", "User-Agent", "curl/8")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/yaml" || w.Header().Get("ETag") == plain.Header().Get("ETag") {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		if err := yaml.UnmarshalStrict(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v: %s", path, err, w.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-JSON +YAML):\n%s", path, diff)
		}
	}
	if w := ask(t, s, "/apis", "Accept", "application/yaml;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2"); w.Code != http.StatusNotAcceptable {
		t.Errorf("aggregated, in YAML: %d", w.Code)
	}
}

func TestDiscoveryIndented(t *testing.T) {
	s := describedServer(t, "")
	compact, indented := ask(t, s, "/apis"), ask(t, s, "/apis?pretty=true")
	if strings.Count(compact.Body.String(), "\n") != 1 || strings.Count(indented.Body.String(), "\n") < 10 {
		t.Errorf("compact: %s\nindented: %s", compact.Body, indented.Body)
	}
	etag := indented.Header().Get("ETag")
	if etag == compact.Header().Get("ETag") {
		t.Error("both have the same ETag")
	}
	if w := ask(t, s, "/apis?pretty=true", "If-None-Match", etag); w.Code != http.StatusNotModified {
		t.Errorf("with its ETag: %d", w.Code)
	}
}

func TestDiscoveryLegacy(t *testing.T) {
	s := describedServer(t, "")
	var versions metav1.APIVersions
	askFor(t, s, "http://gateway.example:8080/api", &versions)
	if diff := cmp.Diff(metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: "gateway.example:8080"}},
	}, versions); diff != "" {
		t.Errorf("/api (-want +got):\n%s", diff)
	}

	appsV1 := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	apps := metav1.APIGroup{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{appsV1}, PreferredVersion: appsV1}
	var list metav1.APIGroupList
	askFor(t, s, "/apis", &list)
	if list.Kind != "APIGroupList" || len(list.Groups) != 21 || !cmp.Equal(list.Groups[0], apps) {
		t.Errorf("/apis: %+v", list)
	}

	apps.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	var group metav1.APIGroup
	askFor(t, s, "/apis/apps", &group)
	if diff := cmp.Diff(apps, group); diff != "" {
		t.Errorf("/apis/apps (-want +got):\n%s", diff)
	}
}

func TestDiscoveryResources(t *testing.T) {
	s := describedServer(t, "")
	var core, batch metav1.APIResourceList
	askFor(t, s, "/api/v1", &core)
	askFor(t, s, "/apis/batch/v1/", &batch)

	all, status := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, metav1.Verbs{"get", "patch", "update"}
	if diff := cmp.Diff(metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "batch/v1",
		APIResources: []metav1.APIResource{
			{Name: "jobs", SingularName: "job", Namespaced: true, Kind: "Job", Verbs: all, Categories: []string{"all"}, StorageVersionHash: "mudhfqk/qZY="},
			{Name: "jobs/status", Namespaced: true, Kind: "Job", Verbs: status},
			{Name: "cronjobs", SingularName: "cronjob", Namespaced: true, Kind: "CronJob", Verbs: all, ShortNames: []string{"cj"}, Categories: []string{"all"},
				StorageVersionHash: "sd5LIXh4Fjs="},
			{Name: "cronjobs/status", Namespaced: true, Kind: "CronJob", Verbs: status},
		},
	}, batch); diff != "" {
		t.Errorf("/apis/batch/v1 (-want +got):\n%s", diff)
	}
	if core.GroupVersion != "v1" {
		t.Errorf("/api/v1: groupVersion %s", core.GroupVersion)
	}
	for _, name := range []string{"configmaps", "namespaces", "pods/status"} {
		if !slices.ContainsFunc(core.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			t.Errorf("/api/v1 has no %s", name)
		}
	}
}

func TestDiscoveryUnknown(t *testing.T) {
	s := describedServer(t, "")
	for _, path := range []string{"/apis/nope", "/apis/nope/v1", "/apis/apps/v9", "/apis/apps/v9/deployments", "/apis/apps/v1/nopes", "/api/v9", "/nope",
		"/openapi/v3/apis/nope/v1", "/openapi/v3/apis/apps"} {
		w := ask(t, s, path)
		if w.Code != http.StatusNotFound || w.Body.String() != "404 page not found\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("GET %s: %d %s %q", path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}
