package gateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"revtail/gateway/access"
	"revtail/gateway/api/discovery"
	"revtail/gateway/resource"
)

const (
	accessReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	rulesReviews  = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	selfReviews   = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
)

func TestAccessReview(t *testing.T) {
	s := newTestServer(t)
	const body = `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}}`
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods"}}}
	for name, a := range map[string]answer{
		"JSON":     s.do(http.MethodPost, accessReviews, body),
		"YAML":     s.do(http.MethodPost, accessReviews, body, "Content-Type", "application/yaml"),
		"protobuf": s.do(http.MethodPost, accessReviews, inProtobuf(t, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), question), asTypedClient...),
	} {
		got := a.json(t)
		want := map[string]any{"allowed": true, "reason": access.NoPolicy}
		if diff := cmp.Diff(want, got["status"]); a.code != http.StatusCreated || diff != "" || got["kind"] != "SelfSubjectAccessReview" {
			t.Errorf("%s: %d %s (-want +got):\n%s", name, a.code, a.body, diff)
		}
		if diff := cmp.Diff(map[string]any{"verb": "create", "resource": "pods"}, got["spec"].(map[string]any)["resourceAttributes"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRulesReview(t *testing.T) {
	s := newTestServer(t)
	const body = `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":{"namespace":"default"}}`
	question := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	for name, a := range map[string]answer{
		"JSON":     s.do(http.MethodPost, rulesReviews, body),
		"YAML":     s.do(http.MethodPost, rulesReviews, body, "Content-Type", "application/yaml"),
		"protobuf": s.do(http.MethodPost, rulesReviews, inProtobuf(t, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), question), asTypedClient...),
	} {
		anything := []any{"*"}
		want := map[string]any{
			"resourceRules":    []any{map[string]any{"verbs": anything, "apiGroups": anything, "resources": anything}},
			"nonResourceRules": []any{map[string]any{"verbs": anything, "nonResourceURLs": anything}},
			"incomplete":       false,
		}
		if diff := cmp.Diff(want, a.json(t)["status"]); a.code != http.StatusCreated || diff != "" {
			t.Errorf("%s: %d %s (-want +got):\n%s", name, a.code, a.body, diff)
		}
	}
}

func TestSelfReview(t *testing.T) {
	s := newTestServer(t)
	const body = `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`
	for name, a := range map[string]answer{
		"JSON": s.do(http.MethodPost, selfReviews, body),
		"YAML": s.do(http.MethodPost, selfReviews, body, "Content-Type", "application/yaml"),
		"protobuf": s.do(http.MethodPost, selfReviews,
			inProtobuf(t, authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), &authenticationv1.SelfSubjectReview{}), asTypedClient...),
	} {
		want := map[string]any{"userInfo": map[string]any{"username": "system:anonymous", "groups": []any{"system:unauthenticated"}}}
		if diff := cmp.Diff(want, a.json(t)["status"]); a.code != http.StatusCreated || diff != "" {
			t.Errorf("%s: %d %s (-want +got):\n%s", name, a.code, a.body, diff)
		}
	}
}

func TestReviewsRefuse(t *testing.T) {
	s := newTestServer(t)
	access := func(spec string) string {
		return `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":` + spec + `}`
	}
	for _, tt := range []struct {
		name, method, path, body string
		code                     int
	}{
		{"no attributes", http.MethodPost, accessReviews, access(`{}`), http.StatusUnprocessableEntity},
		{"two kinds of attributes", http.MethodPost, accessReviews, access(`{"resourceAttributes":{},"nonResourceAttributes":{}}`), http.StatusUnprocessableEntity},
		{"no namespace", http.MethodPost, rulesReviews, `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1"}`, http.StatusBadRequest},
		{"of another user", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", access(`{}`), http.StatusNotFound},
		{"another kind", http.MethodPost, selfReviews, access(`{}`), http.StatusBadRequest},
		{"unknown field", http.MethodPost, accessReviews + "?fieldValidation=Strict", access(`{"resourceAttributes":{"no":1}}`), http.StatusBadRequest},
		{"malformed", http.MethodPost, accessReviews, `{`, http.StatusBadRequest},
		{"list", http.MethodGet, accessReviews, "", http.StatusMethodNotAllowed},
		{"delete", http.MethodDelete, selfReviews, "", http.StatusMethodNotAllowed},
		{"patch", http.MethodPatch, selfReviews, "{}", http.StatusMethodNotAllowed},
		{"one review", http.MethodGet, accessReviews + "/a", "", http.StatusNotFound},
	} {
		if a := s.do(tt.method, tt.path, tt.body); a.code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.name, a.code, a.body, tt.code)
		}
	}
}

// TestReviewsAreDescribed checks that discovery has the reviews, with create as their only verb.
func TestReviewsAreDescribed(t *testing.T) {
	s := newTestServer(t)
	for _, res := range resource.Virtual() {
		list := s.get("/apis/" + res.APIVersion()).json(t)["resources"].([]any)
		i := slices.IndexFunc(list, func(described any) bool { return text(t, described, "name") == res.Plural })
		if i < 0 || !cmp.Equal([]any{"create"}, list[i].(map[string]any)["verbs"]) {
			t.Errorf("%s: %v", res.Plural, list)
		}
		aggregated := s.get("/apis", "Accept", discovery.AggregatedType).body
		if !strings.Contains(aggregated, `"resource":"`+res.Plural+`"`) {
			t.Errorf("%s is not in the aggregated discovery", res.Plural)
		}
		paths := s.get("/openapi/v3/apis/" + res.APIVersion()).json(t)["paths"].(map[string]any)
		path, _ := paths["/apis/"+res.APIVersion()+"/"+res.Plural].(map[string]any)
		if len(paths) != len(list) || path["post"] == nil || path["get"] != nil {
			t.Errorf("%s: %v", res.Plural, paths)
		}
	}
}
