package gateway

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore/memory"
	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/api/mount"
	"revtail/gateway/api/upstream"
)

// judge takes a token for the name of its user. alice may do everything, bob nothing but impersonate alice.
type judge struct{ away atomic.Bool }

func (j *judge) ReviewToken(_ context.Context, token string) (*authentication.Identity, error) {
	switch {
	case j.away.Load():
		return nil, authentication.ErrUnavailable
	case token == "bad":
		return nil, authentication.ErrRefused
	}
	return &authentication.Identity{Name: token, Groups: []string{authentication.AuthenticatedAll}}, nil
}

func (j *judge) Authorize(identity *authentication.Identity, about authorization.Attributes) error {
	switch {
	case j.away.Load():
		return access.ErrUndecided
	case identity.Name == "alice", identity.Name == "bob" && about.Verb == "impersonate" && about.Name == "alice":
		return nil
	}
	return about.ForbiddenBecause(identity.Name, "no rule")
}

// convertedByService is a definition whose objects a service in the cluster converts.
const convertedByService = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com","uid":"u",
"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"a","name":"b"}}}},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// behindKube starts a gateway before a server that says who it is, in the place of a kube-apiserver.
func behindKube(t *testing.T) (*testServer, *judge) {
	t.Helper()
	kube := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("From", "kube "+r.Method)
		w.Header().Set("Audit-Id", r.Header.Get("Audit-Id"))
	}))
	t.Cleanup(kube.Close)
	target, err := url.Parse(kube.URL)
	if err != nil {
		t.Fatal(err)
	}
	transports, err := upstream.NewTransports(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kube.Certificate().Raw}), nil)
	if err != nil {
		t.Fatal(err)
	}
	logger, j, store := slog.New(slog.DiscardHandler), new(judge), memory.New()
	if _, err := store.Create(t.Context(), "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com", []byte(convertedByService)); err != nil {
		t.Fatal(err)
	}
	return serveLogged(t, store, Options{
		Store: store, Logger: logger, Authenticator: authentication.New(authentication.Sources{Reviewer: j}), Delegate: j,
		Mounts:    []mount.Mount{{Prefix: "/app/", Group: "app.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: "json"}},
		Forwarded: []schema.GroupResource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
		Upstream: upstream.New(upstream.Config{
			URL: target, Transports: func() *upstream.Transports { return transports }, Suspect: func() {}, Logger: logger,
		}),
		UpstreamProblems: func() []string { return []string{"it is away"} },
	}), j
}

// TestForward checks which requests the gateway answers itself, and that its own answers are those that the delegate allows.
func TestForward(t *testing.T) {
	s, j := behindKube(t)
	const kube = 0
	for _, tt := range []struct {
		method, path, token string
		as                  string
		code                int // of the gateway itself; kube: the request is forwarded
	}{
		{method: "GET", path: configMaps, token: "alice", code: 200},
		{method: "HEAD", path: configMaps, token: "alice", code: 200},
		{method: "GET", path: configMaps + "/", token: "alice", code: 200},
		{method: "GET", path: configMaps + "/none", token: "alice", code: 404},
		{method: "GET", path: configMaps, token: "bob", code: 403},
		{method: "GET", path: configMaps, token: "bad", code: 401},
		{method: "GET", path: configMaps, token: "bob", as: "alice", code: 200},
		{method: "GET", path: configMaps, token: "alice", as: "bob", code: 403},
		{method: "GET", path: configMaps, token: "bob", as: "carol", code: kube},
		{method: "GET", path: configMaps, code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/pods/a/status", token: "alice", code: 404},
		{method: "GET", path: "/apis/apps/v1/namespaces/default/deployments/a/scale", token: "alice", code: 404},
		{method: "GET", path: "/api/v1/events", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/events/a", token: "alice", code: kube},
		{method: "GET", path: "/apis/events.k8s.io/v1/namespaces/default/events?watch=1", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/events", token: "bad", code: 401},
		{method: "POST", path: configMaps, token: "alice", code: kube},
		{method: "POST", path: configMaps, token: "bad", code: 401},
		{method: "PATCH", path: configMaps + "/one", token: "alice", code: kube},
		{method: "DELETE", path: configMaps, token: "alice", code: kube},
		{method: "OPTIONS", path: configMaps, token: "alice", code: kube},
		{method: "HEAD", path: "/version", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/pods/a/log", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/pods/a/eviction", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/finalize", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/services/a/proxy/x", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/nodes", token: "alice", code: kube},
		{method: "GET", path: "/api/v1/namespaces/default/config%2Fmaps", token: "alice", code: kube},
		{method: "GET", path: "/api//v1/configmaps", token: "alice", code: kube},
		{method: "GET", path: "/apis/metrics.k8s.io/v1beta1/pods?watch=1", token: "alice", code: kube},
		{method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", token: "alice", code: kube},
		{method: "GET", path: "/apis/example.com/v1/widgets", token: "alice", code: kube},
		{method: "GET", path: configMaps + "?at=1", token: "alice", code: 200},
		{method: "GET", path: "/apis/example.com/v1/widgets?at=1", token: "alice", code: 501},
		{method: "GET", path: "/apis/metrics.k8s.io/v1beta1/pods?at=1", token: "alice", code: 501},
		{method: "GET", path: "/api/v1/namespaces/default/pods/a/log?at=1", token: "alice", code: 501},
		{method: "HEAD", path: "/api/v1/namespaces/default/pods/a/log?at=1", token: "alice", code: 501},
		{method: "GET", path: configMaps + "?at=1", code: 501},
		{method: "POST", path: configMaps + "?at=1", token: "alice", code: 400},
		{method: "DELETE", path: configMaps + "/one?at=-10m", token: "alice", code: 400},
		{method: "POST", path: configMaps + "?at=1", token: "bad", code: 401},
		{method: "GET", path: "/api/v1/namespaces/default/services/a/proxy/x?at=1", token: "alice", code: kube},
		{method: "GET", path: "/version?at=1", token: "alice", code: kube},
		{method: "GET", path: "/v1/history?resource=configmaps", token: "alice", code: 501},
		{method: "GET", path: "/v1/history?resource=configmaps", token: "bob", code: 403},
		{method: "GET", path: "/v1/history?resource=configmaps", code: 401},
		{method: "GET", path: "/apis", token: "alice", code: kube},
		{method: "GET", path: "/api/v1", token: "alice", code: kube},
		{method: "GET", path: "/openapi/v3", token: "alice", code: kube},
		{method: "GET", path: "/openid/v1/jwks", token: "alice", code: kube},
		{method: "GET", path: "/", token: "alice", code: kube},
		{method: "GET", path: "/apis/app.example.com/v1/settings", token: "alice", code: 200},
		{method: "POST", path: "/apis/app.example.com/v1/settings", token: "alice", code: 405},
		{method: "GET", path: "/metrics", token: "alice", code: 200},
		{method: "GET", path: "/metrics", token: "bob", code: 403},
		{method: "GET", path: "/metrics", code: 401},
		{method: "GET", path: "/readyz", code: 200},
		{method: "GET", path: "/livez", code: 200},
		{method: "GET", path: "/readyz/etcd", token: "alice", code: 404},
		{method: "GET", path: "/ui/", code: 200},
		{method: "GET", path: "/v1/keys/app/none", token: "alice", code: 404},
		{method: "GET", path: "/v1/keys/app/none", token: "bob", code: 403},
	} {
		var header []string
		if tt.token != "" {
			header = append(header, "Authorization", "Bearer "+tt.token)
		}
		if tt.as != "" {
			header = append(header, "Impersonate-User", tt.as)
		}
		got := s.do(tt.method, tt.path, "", header...)
		from, want := got.header.Get("From"), ""
		if tt.code == kube {
			want = "kube " + tt.method
		}
		if from != want || tt.code != kube && got.code != tt.code {
			t.Errorf("%s %s by %q as %q: %d from %q, want %d from %q\n%s", tt.method, tt.path, tt.token, tt.as, got.code, from, tt.code, want, got.body)
		}
		if ids := got.header["Audit-Id"]; len(ids) != 1 || ids[0] == "" {
			t.Errorf("%s %s: the Audit-Ids are %q", tt.method, tt.path, ids)
		}
	}
	if got := s.get(configMaps, "Authorization", "Bearer bob"); !strings.Contains(got.body, `in the namespace \"default\": no rule"`) {
		t.Errorf("a refusal: %s", got.body)
	}
	if got := s.get("/readyz?verbose"); got.code != http.StatusOK || !strings.Contains(got.body, "[!]kube-apiserver it is away\n") {
		t.Errorf("%d %s", got.code, got.body)
	}
	j.away.Store(true)
	for _, path := range []string{configMaps, "/version"} {
		if got := s.get(path, "Authorization", "Bearer alice"); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"kind":"Status"`) {
			t.Errorf("%s while nobody decides: %d %v %s", path, got.code, got.header, got.body)
		}
	}
}
