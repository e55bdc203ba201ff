package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/config/reload"
	"revtail/gateway/http/request"
)

// tenantPolicy allows all users everything with ConfigMaps in the namespace a, and nothing else.
const tenantPolicy = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tenant, namespace: a}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant}
subjects: [{kind: Group, name: "system:unauthenticated"}]
`

// witnessStore records the requested keys.
type witnessStore struct {
	*memory.Store
	mu   sync.Mutex // guards the field below
	keys []string
}

func (s *witnessStore) note(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
}

// take returns the keys since the last call.
func (s *witnessStore) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.keys
	s.keys = nil
	return keys
}

func (s *witnessStore) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	s.note(key)
	return s.Store.Get(ctx, key)
}

func (s *witnessStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	s.note(prefix)
	return s.Store.List(ctx, prefix, o)
}

func (s *witnessStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	s.note(key)
	return s.Store.Create(ctx, key, value)
}

func (s *witnessStore) CreateGuarded(ctx context.Context, key string, value []byte, guard etcdstore.Guard) (etcdstore.Revision, error) {
	s.note(key)
	return s.Store.CreateGuarded(ctx, key, value, guard)
}

func (s *witnessStore) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	s.note(key)
	return s.Store.Update(ctx, key, value, want)
}

func (s *witnessStore) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	s.note(key)
	return s.Store.Delete(ctx, key, want)
}

func (s *witnessStore) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	for _, ops := range [][]etcdstore.Op{t.Then, t.Else} {
		for _, op := range ops {
			s.note(op.Key)
		}
	}
	return s.Store.Transact(ctx, t)
}

func (s *witnessStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	if o.Exact {
		s.note(prefix)
	}
	return s.Store.Watch(ctx, prefix, o)
}

// tenantServer is a gateway with tenantPolicy over a store with canaries everywhere else. Its garbage collector is off and no Namespace is
// missing, so that only requests read the store.
func tenantServer(t *testing.T) (*Server, *witnessStore) {
	t.Helper()
	store := &witnessStore{Store: memory.New()}
	for _, key := range []string{"configmaps/ab/one", "configmaps/b/one", "configmaps/a-b/one", "configmaps/one", "secrets/a/one",
		"namespaces/a", "namespaces/ab", "namespaces/b", "namespaces/a-b", "namespaces/default", "namespaces/kube-system"} {
		if _, err := store.Store.Create(t.Context(), "/registry/"+key, []byte(`{"data":{"x":"canary"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(tenantPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := reload.Open("--policy-file", file, authorization.Parse, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Policy: policy,
		Authenticator: authentication.New(authentication.Sources{Anonymous: true})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	if err := server.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the search for events of earlier releases, which reads the store at the start", func() bool {
		return slices.Contains(store.take(), "/registry/events.k8s.io/events/")
	})
	return server, store
}

// TestIsolation checks that no request of a tenant, with any URL, reads or writes a key of others, or shows its value.
func TestIsolation(t *testing.T) {
	server, store := tenantServer(t)
	segment := rapid.SampledFrom([]string{"api", "v1", "apis", "namespaces", "a", "ab", "b", "a-b", "configmaps", "secrets", "one", "watch", "status", "scale",
		"..", ".", "", "%2e%2e", "%2E.", "..%2fsecrets", "a%2f..%2fb", "%252e", "a%00", "%ff", "%c0%ae", "a;b", `a\b`, "a%5cb", "ａ", "a%20", "A", "keys", "tickets"})
	beginning := rapid.SampledFrom([]string{"/", "/api/v1/", "/api/v1/namespaces/a/", "/api/v1/namespaces/a/configmaps/", "/api/v1/namespaces/ab/configmaps/",
		"/api/v1/watch/", "/api/v1/watch/namespaces/a/", "/apis/apps/v1/namespaces/a/", "//", "/api//v1/"})
	query := rapid.SampledFrom([]string{"", "?watch=1&timeoutSeconds=1", "?fieldSelector=metadata.name%3Done", "?fieldSelector=metadata.namespace%3Dab",
		"?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYWIvb25lXHUwMDAwIn0", "?limit=1", "?resourceVersion=0", "?dryRun=All"})
	methods := rapid.SampledFrom([]string{"GET", "GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"})
	reached := 0
	ours := "/registry/configmaps/a/"
	store.take()
	property := func(rt *rapid.T) {
		target := beginning.Draw(rt, "beginning") + strings.Join(rapid.SliceOfN(segment, 0, 5).Draw(rt, "segments"), "/")
		method := methods.Draw(rt, "method")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", strings.NewReader(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"one"}}`))
		if err != nil {
			rt.Fatal(err)
		}
		if r.URL, err = r.URL.Parse("http://localhost" + target + query.Draw(rt, "query")); err != nil {
			rt.Skip("no URL")
		}
		if r.Header.Set("Content-Type", "application/json"); method == "PATCH" {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		if method == "GET" || method == "HEAD" {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		if request.Bool(r.URL.Query(), "watch") || strings.Contains(target, "/watch/") {
			// A watch would wait for its timeout; the test needs only its status code.
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			r = r.WithContext(ctx)
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		for _, key := range store.take() {
			if reached++; !strings.HasPrefix(key, ours) && !strings.HasPrefix(key, "/registry/namespaces/a") {
				rt.Fatalf("%s %s: %d, and requests %s", method, r.URL, w.Code, key)
			}
		}
		if strings.Contains(w.Body.String(), "canary") {
			rt.Fatalf("%s %s shows %s", method, r.URL, w.Body)
		}
	}
	for range 20 { // a hundred requests each
		rapid.Check(t, property)
	}
	if reached == 0 {
		t.Error("no request reached the store, so the test has checked nothing")
	}
}

// TestForbiddenBeforeNotFound checks that a URL without a rule is 403, whether or not the object exists, and that one with a rule is 404 if
// the object does not exist.
func TestForbiddenBeforeNotFound(t *testing.T) {
	server, _ := tenantServer(t)
	for request, want := range map[string]int{
		"GET /api/v1/namespaces/a/configmaps":                                        http.StatusOK,
		"GET /api/v1/namespaces/a/configmaps/none":                                   http.StatusNotFound,
		"GET /api/v2/namespaces/a/configmaps":                                        http.StatusNotFound,
		"GET /api/v1/namespaces/a/configmaps/one/scale":                              http.StatusForbidden,
		"GET /api/v1/namespaces/a/status":                                            http.StatusForbidden,
		"GET /api/v1/namespaces/a/status/configmaps":                                 http.StatusForbidden,
		"GET /api/v1/namespaces/a/nonsense":                                          http.StatusForbidden,
		"GET /api/v1/namespaces/b/configmaps":                                        http.StatusForbidden,
		"GET /api/v1/configmaps?fieldSelector=metadata.namespace%3Da":                http.StatusForbidden,
		"GET /api/v1/watch/namespaces/b/configmaps":                                  http.StatusForbidden,
		"POST /api/v1/watch/configmaps":                                              http.StatusForbidden,
		"GET /apis/apps/v1/namespaces/a/configmaps":                                  http.StatusForbidden,
		"GET /api/v1/namespaces/a/configmaps/one/two/three/four":                     http.StatusForbidden,
		"GET /v1/keys/registry/configmaps/a/one":                                     http.StatusForbidden,
		"GET /v1/keys?key=/registry/configmaps/a/one&key=/registry/secrets/a/&watch": http.StatusForbidden,
		"GET /nowhere": http.StatusForbidden,
	} {
		method, target, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		r.Host = "localhost"
		server.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s is %d, want %d: %s", request, w.Code, want, w.Body)
		}
	}
}
