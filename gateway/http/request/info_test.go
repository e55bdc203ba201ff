package request_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/middleware"
	"revtail/gateway/resource"
)

// TestParseInfo checks that URLs are parsed as in Kubernetes.
func TestParseInfo(t *testing.T) {
	type req = authorization.Attributes
	for url, want := range map[string]req{
		"GET /":                                                {Verb: "get", Path: "/"},
		"GET /api":                                             {Verb: "get", Path: "/api"},
		"GET /api/v1":                                          {Verb: "get", Path: "/api/v1"},
		"GET /api/v1/":                                         {Verb: "get", Path: "/api/v1"},
		"GET /apis/apps/v1":                                    {Verb: "get", Path: "/apis/apps/v1"},
		"HEAD /api/v1/pods":                                    {Verb: "list", Resource: "pods", Version: "v1"},
		"POST /metrics":                                        {Verb: "post", Path: "/metrics"},
		"OPTIONS /api/v1/pods":                                 {Resource: "pods", Version: "v1"},
		"GET /api/v1/pods":                                     {Verb: "list", Resource: "pods", Version: "v1"},
		"GET /api/v1/pods?watch=1":                             {Verb: "watch", Resource: "pods", Version: "v1"},
		"GET /api/v1/pods?watch=0":                             {Verb: "list", Resource: "pods", Version: "v1"},
		"GET /api/v1/watch/pods":                               {Verb: "watch", Resource: "pods", Version: "v1"},
		"DELETE /api/v1/watch/pods":                            {Verb: "delete", Resource: "watch", Name: "pods", Version: "v1"},
		"GET /api/v1/watch/namespaces/a/pods/b":                {Verb: "watch", Resource: "pods", Namespace: "a", Name: "b", Version: "v1"},
		"GET /api/v1/namespaces/a/pods":                        {Verb: "list", Resource: "pods", Namespace: "a", Version: "v1"},
		"POST /api/v1/namespaces/a/pods":                       {Verb: "create", Resource: "pods", Namespace: "a", Version: "v1"},
		"DELETE /api/v1/namespaces/a/pods":                     {Verb: "deletecollection", Resource: "pods", Namespace: "a", Version: "v1"},
		"GET /api/v1/namespaces/a/pods/b?watch=1":              {Verb: "get", Resource: "pods", Namespace: "a", Name: "b", Version: "v1"},
		"PUT /api/v1/namespaces/a/pods/b/status":               {Verb: "update", Resource: "pods", Subresource: "status", Namespace: "a", Name: "b", Version: "v1"},
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale": {Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "b", Version: "v1"},
		"GET /api/v1/pods?watch=1&labelSelector=a%3Db&fieldSelector=c%3Dd": {Verb: "watch", Resource: "pods", Version: "v1", FieldSelector: "c=d", LabelSelector: "a=b"},
		"GET /api/v1/pods/a?labelSelector=a%3Db":                           {Verb: "get", Resource: "pods", Name: "a", Version: "v1"},
		"GET /api/v1/namespaces":                                           {Verb: "list", Resource: "namespaces", Version: "v1"},
		"GET /api/v1/namespaces/a":                                         {Verb: "get", Resource: "namespaces", Namespace: "a", Name: "a", Version: "v1"},
		"PUT /api/v1/namespaces/a/status":                                  {Verb: "update", Resource: "namespaces", Subresource: "status", Namespace: "a", Name: "a", Version: "v1"},
		"GET /api/v1/pods?fieldSelector=metadata.name%3Db":                 {Verb: "list", Resource: "pods", Name: "b", Version: "v1", FieldSelector: "metadata.name=b"},
		"GET /api/v1/pods?fieldSelector=metadata.name%21%3Db":              {Verb: "list", Resource: "pods", Version: "v1", FieldSelector: "metadata.name!=b"},
		"GET /api/v1/pods?fieldSelector=metadata.name%3Db,a%3Db":           {Verb: "list", Resource: "pods", Name: "b", Version: "v1", FieldSelector: "metadata.name=b,a=b"},
		"GET /api/v1/pods?fieldSelector=metadata.namespace%3Db":            {Verb: "list", Resource: "pods", Version: "v1", FieldSelector: "metadata.namespace=b"},
		"GET /api/v1/pods?fieldSelector=metadata.name%20in%20(b)":          {Verb: "list", Resource: "pods", Version: "v1", FieldSelector: "metadata.name in (b)"},
		"DELETE /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db": {Verb: "deletecollection", Resource: "pods", Namespace: "a", Name: "b", Version: "v1", FieldSelector: "metadata.name=b"},
		"POST /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db":   {Verb: "create", Resource: "pods", Namespace: "a", Version: "v1"},
		"GET /v1/keys/":                                      {Verb: "list", Key: "/"},
		"GET /v1/keys":                                       {Verb: "list", Key: "/"},
		"GET /v1/keys/app/config":                            {Verb: "get", Key: "/app/config"},
		"GET /v1/keys/app/config?watch":                      {Verb: "watch", Key: "/app/config"},
		"GET /v1/keys/app/config/":                           {Verb: "list", Key: "/app/config/"},
		"GET /v1/keys/app/config/?watch=1":                   {Verb: "watch", Key: "/app/config/"},
		"GET /v1/keys?watch&key=b&key=/c/&key=/c/d&key64=YQ": {Verb: "watch", Key: "/c/", Keys: []string{"a", "b"}},
		"PUT /v1/keys/app/config":                            {Verb: "update", Key: "/app/config"},
		"GET /v1/history?resource=pods&namespace=a":          {Verb: "list", Resource: "pods", Namespace: "a"},
		"GET /v1/history/export?resource=pods":               {Verb: "get", Path: "/v1/history/export"},
		"DELETE /v1/keys/app/":                               {Verb: "delete", Key: "/app/"},
	} {
		var got req
		method, target, _ := strings.Cut(url, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		request.HeadIsGet(middleware.CleanPath(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = request.ParseInfo(r).Attributes }))).ServeHTTP(httptest.NewRecorder(), r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

// TestParseInfoScope checks that the scope is that of the path, not that of the name for authorization.
func TestParseInfoScope(t *testing.T) {
	for path, want := range map[string]request.Info{
		"/apis/apps":                                   {GroupVersion: schema.GroupVersion{Group: "apps"}},
		"/apis/apps/v1":                                {GroupVersion: schema.GroupVersion{Group: "apps", Version: "v1"}},
		"/api/v1":                                      {GroupVersion: schema.GroupVersion{Version: "v1"}},
		"/api/v1/namespaces/a":                         {GroupVersion: schema.GroupVersion{Version: "v1"}, Scope: resource.Scope{Name: "a"}},
		"/api/v1/namespaces/a/status":                  {GroupVersion: schema.GroupVersion{Version: "v1"}, Scope: resource.Scope{Name: "a"}},
		"/api/v1/namespaces/a/pods":                    {GroupVersion: schema.GroupVersion{Version: "v1"}, Scope: resource.Scope{Namespace: "a"}},
		"/api/v1/watch/namespaces/a/pods/b":            {GroupVersion: schema.GroupVersion{Version: "v1"}, Scope: resource.Scope{Namespace: "a", Name: "b"}},
		"/apis/apps/v1/deployments":                    {GroupVersion: schema.GroupVersion{Group: "apps", Version: "v1"}},
		"/api/v1/pods?fieldSelector=metadata.name%3Db": {GroupVersion: schema.GroupVersion{Version: "v1"}},
	} {
		got := request.ParseInfo(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got.GroupVersion != want.GroupVersion || got.Scope != want.Scope {
			t.Errorf("%s is %v %+v, want %v %+v", path, got.GroupVersion, got.Scope, want.GroupVersion, want.Scope)
		}
	}
}

// FuzzParseInfo checks that a URL is authorized as kube-apiserver reads it, so that rules written for it mean the same here, and that the
// scope in which a handler acts is the one that is authorized.
func FuzzParseInfo(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/pods", "/api/v1/namespaces/a/pods/b/status", "/apis/apps/v1/watch/namespaces/a/deployments/b", "/api/v1/namespaces/a", "/api/v1/namespaces/a/status",
		"/api/v1/namespaces//pods", "/api/v1/%6eamespaces/a/secrets", "/api/v1/namespaces/a%2fb/pods", "/api/v1/../v1/pods", "/api/v1/watch", "/api/v1/watch/watch/watch",
		"/apis/apps/v1", "/apis//v1/pods", "/api/v1/pods/a/b/c/d", "/api", "/v1/keys/app/", "/v1/keys/a/../b", "/api/v1/namespaces/watch/pods/watch", "/api/v1/pods/",
	} {
		for _, watch := range []string{"none", "", "1", "FALSE"} {
			f.Add("GET", seed, watch)
			f.Add("DELETE", seed, watch)
		}
	}
	reference := &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	f.Fuzz(func(t *testing.T, method, path, watch string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
			return
		}
		u.RawQuery = ""
		if watch != "none" {
			u.RawQuery = "watch=" + url.QueryEscape(watch)
		}
		r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
		r.URL = u
		var info *request.Info
		request.HeadIsGet(middleware.CleanPath(http.HandlerFunc(func(_ http.ResponseWriter, clean *http.Request) {
			info, r = request.ParseInfo(clean), clean
		}))).ServeHTTP(httptest.NewRecorder(), r)
		if info == nil {
			return // refused
		}
		a := info.Attributes
		if info.Scope.Namespace != "" && info.Scope.Namespace != a.Namespace || info.Scope.Name != a.Name {
			t.Errorf("%s %s is authorized as %+v, and acts in %+v", method, u, a, info.Scope)
		}
		want, err := reference.NewRequestInfo(r)
		segments := strings.Split(r.URL.Path, "/")
		if err != nil || slices.Contains(segments, "finalize") || slices.Contains(segments, "proxy") || method != "GET" && slices.Contains(segments, "watch") {
			return // has no handler here
		}
		got := authorization.Attributes{Verb: want.Verb, Group: want.APIGroup, Resource: want.Resource, Subresource: want.Subresource, Namespace: want.Namespace, Name: want.Name,
			Version: want.APIVersion, FieldSelector: want.FieldSelector, LabelSelector: want.LabelSelector}
		if !want.IsResourceRequest {
			got = authorization.Attributes{Verb: want.Verb, Path: want.Path}
		}
		if request.IsKeysPath(r.URL.Path) {
			return
		}
		if diff := cmp.Diff(got, a); diff != "" {
			t.Errorf("%s %s (-kube-apiserver +got):\n%s", method, u, diff)
		}
	})
}
