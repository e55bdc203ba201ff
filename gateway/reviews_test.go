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
	tokenReviews  = "/apis/authentication.k8s.io/v1/tokenreviews"
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
		got := a.decodedAny(t)
		want := map[string]any{"allowed": true, "reason": access.NoPolicy}
		if diff := cmp.Diff(want, got["status"]); a.code != http.StatusCreated || diff != "" || got["kind"] != "SelfSubjectAccessReview" {
			t.Errorf("%s: %d %s (-want +got):\n%s", name, a.code, a.body, diff)
		}
		if diff := cmp.Diff(map[string]any{"verb": "create", "resource": "pods"}, got["spec"].(map[string]any)["resourceAttributes"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReviewAs checks that there is no Table of a review, which has no name and no age, and that the other representations exist.
func TestReviewAs(t *testing.T) {
	s := newTestServer(t)
	const body = `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, test := range []struct {
		accept string
		code   int
		kind   string
	}{
		{table, http.StatusNotAcceptable, "Status"},
		{table + ",application/json", http.StatusCreated, "SelfSubjectAccessReview"},
		{"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", http.StatusCreated, "PartialObjectMetadata"},
	} {
		if a := s.do(http.MethodPost, accessReviews, body, "Accept", test.accept); a.code != test.code || a.json(t)["kind"] != test.kind {
			t.Errorf("%s: %d %s, want %d and kind %s", test.accept, a.code, a.body, test.code, test.kind)
		}
	}
	if a := s.do(http.MethodPost, accessReviews, body, "Accept", "application/yaml"); !strings.HasPrefix(a.body, "kind: SelfSubjectAccessReview\n") {
		t.Errorf("YAML: %s", a.body)
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
		if diff := cmp.Diff(want, a.decodedAny(t)["status"]); a.code != http.StatusCreated || diff != "" {
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
		if diff := cmp.Diff(want, a.decodedAny(t)["status"]); a.code != http.StatusCreated || diff != "" {
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
		{"with a name", http.MethodPost, accessReviews, strings.Replace(access(`{"resourceAttributes":{}}`), `"spec"`, `"metadata":{"name":"a"},"spec"`, 1), http.StatusUnprocessableEntity},
		{"no namespace", http.MethodPost, rulesReviews, `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1"}`, http.StatusBadRequest},
		{"in no namespace", http.MethodPost, "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", access(`{}`), http.StatusNotFound},
		{"another kind", http.MethodPost, selfReviews, access(`{}`), http.StatusBadRequest},
		{"no token", http.MethodPost, tokenReviews, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1"}`, http.StatusBadRequest},
		{"a token of a gateway without a key", http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/a/token", "{}", http.StatusNotImplemented},
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
		if res.Group == "" {
			continue // bindings are no reviews
		}
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
		place := "/apis/" + res.APIVersion() + "/"
		if res.Namespaced {
			place += "namespaces/{namespace}/"
		}
		path, _ := paths[place+res.Plural].(map[string]any)
		if len(paths) != len(list) || path["post"] == nil || path["get"] != nil {
			t.Errorf("%s: %v", res.Plural, paths)
		}
	}
}

// TestSubjectReviewWithoutPolicy checks that a gateway without a policy lets no user in at other servers, which could ask it.
func TestSubjectReviewWithoutPolicy(t *testing.T) {
	s := newTestServer(t)
	const spec = `"spec":{"user":"a","resourceAttributes":{"verb":"get","resource":"pods","namespace":"b"}}}`
	for path, kind := range map[string]string{"/subjectaccessreviews": "SubjectAccessReview", "/namespaces/b/localsubjectaccessreviews": "LocalSubjectAccessReview"} {
		a := s.do(http.MethodPost, "/apis/authorization.k8s.io/v1"+path, `{"kind":"`+kind+`","apiVersion":"authorization.k8s.io/v1",`+spec)
		got := a.json(t)["status"].(map[string]any)
		if a.code != http.StatusCreated || got["allowed"] != false || !strings.Contains(text(t, got, "evaluationError"), "--policy-file") {
			t.Errorf("%s: %d %s", kind, a.code, a.body)
		}
	}
}

// TestSubjectReviewErrors compares the errors of questions with those of kube-apiserver 1.37: the field of each cause, and its reason.
func TestSubjectReviewErrors(t *testing.T) {
	s := newTestServer(t)
	const both = `"resourceAttributes":{"verb":"get","resource":"pods","namespace":"b"},"nonResourceAttributes":{"verb":"get","path":"/x"}`
	const global, local = "/subjectaccessreviews SubjectAccessReview", "/namespaces/b/localsubjectaccessreviews LocalSubjectAccessReview"
	for _, tt := range []struct{ at, members, want string }{
		{global, `"spec":{}`, "spec FieldValueInvalid, spec.user FieldValueInvalid"},
		{global, `"spec":{"user":"a",` + both + `}`, "spec FieldValueInvalid"},
		{global, `"metadata":{"name":"a"},"spec":{"user":"a","nonResourceAttributes":{}}`, "metadata FieldValueInvalid"},
		{global, `"spec":{"user":"a","resourceAttributes":{"fieldSelector":{}}}`, "spec.resourceAttributes.fieldSelector.requirements FieldValueRequired"},
		{global, `"spec":{"groups":["a"],"resourceAttributes":{"labelSelector":{"rawSelector":"a","requirements":[{"key":"a","operator":"In"}]}}}`,
			"spec.resourceAttributes.labelSelector.rawSelector FieldValueInvalid, spec.resourceAttributes.labelSelector.requirements[0].values FieldValueRequired"},
		{local, `"spec":{"user":"a","resourceAttributes":{"namespace":"c"}}`, "spec.resourceAttributes.namespace FieldValueInvalid"},
		{local, `"spec":{"user":"a","nonResourceAttributes":{"path":"/x"}}`, "spec.nonResourceAttributes FieldValueInvalid"},
	} {
		path, kind, _ := strings.Cut(tt.at, " ")
		a := s.do(http.MethodPost, "/apis/authorization.k8s.io/v1"+path, `{"kind":"`+kind+`","apiVersion":"authorization.k8s.io/v1",`+tt.members+`}`)
		details, _ := a.json(t)["details"].(map[string]any)
		causes, _ := details["causes"].([]any)
		var got []string
		for _, cause := range causes {
			got = append(got, text(t, cause, "field")+" "+text(t, cause, "reason"))
		}
		if a.code != http.StatusUnprocessableEntity || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s %s: %d %q, want %q", kind, tt.members, a.code, got, tt.want)
		}
	}
}
