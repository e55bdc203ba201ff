package gateway

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"revtail/etcdstore/memory"
)

// TestBeforeDefinitions checks that no resource is reported as unknown before the definitions are read, neither by its own URL nor by a
// document with all resources.
func TestBeforeDefinitions(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Store: memory.New(), Prefix: "/registry"})
	if err != nil {
		t.Fatal(err)
	}
	const shirts = "/apis/example.com/v1/shirts"
	after := map[string]int{
		"/apis/example.com/v1": http.StatusNotFound,
		"/apis/example.com":    http.StatusNotFound,
		"/apis":                http.StatusOK,
		"/openapi/v2":          http.StatusOK,
		"/openapi/v3":          http.StatusOK,
		"/api":                 http.StatusOK,
		"/api/v1/shirts":       http.StatusNotFound,
	}
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	for _, path := range append(slices.Collect(maps.Keys(after)), shirts) {
		if a := get(path); path != "/api" && (a.Code != http.StatusTooManyRequests || a.Header().Get("Retry-After") == "") {
			t.Errorf("before, %s: %d %v %s, want 429 with Retry-After", path, a.Code, a.Header(), a.Body)
		}
	}
	if a := get("/readyz?verbose"); a.Code != http.StatusServiceUnavailable || !strings.Contains(a.Body.String(), "[-]definitions failed") {
		t.Errorf("before, /readyz: %d %s", a.Code, a.Body)
	}
	run(t, s)
	for path, code := range after {
		if a := get(path); a.Code != code {
			t.Errorf("after, %s: %d %s, want %d", path, a.Code, a.Body, code)
		}
	}
}

// TestMethods checks that a refused method is answered with the methods of the URL.
func TestMethods(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	for _, test := range []struct{ method, path, allow string }{
		{http.MethodOptions, configMaps, "GET, HEAD, POST, DELETE"},
		{http.MethodDelete, "/api/v1/configmaps", "GET, HEAD"},
		{http.MethodPost, configMaps + "/a", "GET, HEAD, PUT, PATCH, DELETE"},
		{http.MethodDelete, "/api/v1/namespaces/default/pods/a/status", "GET, HEAD, PUT, PATCH"},
		{http.MethodPost, "/api/v1", "GET, HEAD"},
		{http.MethodPut, "/apis/apps", "GET, HEAD"},
		{http.MethodPost, "/version", "GET, HEAD"},
		{http.MethodGet, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "POST"},
	} {
		a := s.do(test.method, test.path, "")
		if a.code != http.StatusMethodNotAllowed || a.header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow: %s, want %s", test.method, test.path, a.code, a.header.Get("Allow"), test.allow)
		}
	}
}
