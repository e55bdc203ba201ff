package request_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/middleware"
	"revtail/gateway/resource"
)

// TestParseInfo checks that URLs are parsed as in Kubernetes.
func TestParseInfo(t *testing.T) {
	type req = authorization.Attributes
	for url, want := range map[string]req{
		"GET /":                                                            {Verb: "get", Path: "/"},
		"GET /api":                                                         {Verb: "get", Path: "/api"},
		"GET /api/v1":                                                      {Verb: "get", Path: "/api/v1"},
		"GET /api/v1/":                                                     {Verb: "get", Path: "/api/v1"},
		"GET /apis/apps/v1":                                                {Verb: "get", Path: "/apis/apps/v1"},
		"HEAD /api/v1/pods":                                                {Verb: "list", Resource: "pods"},
		"POST /metrics":                                                    {Verb: "post", Path: "/metrics"},
		"OPTIONS /api/v1/pods":                                             {Resource: "pods"},
		"GET /api/v1/pods":                                                 {Verb: "list", Resource: "pods"},
		"GET /api/v1/pods?watch=1":                                         {Verb: "watch", Resource: "pods"},
		"GET /api/v1/pods?watch=0":                                         {Verb: "list", Resource: "pods"},
		"GET /api/v1/watch/pods":                                           {Verb: "watch", Resource: "pods"},
		"DELETE /api/v1/watch/pods":                                        {Verb: "delete", Resource: "watch", Name: "pods"},
		"GET /api/v1/watch/namespaces/a/pods/b":                            {Verb: "watch", Resource: "pods", Namespace: "a", Name: "b"},
		"GET /api/v1/namespaces/a/pods":                                    {Verb: "list", Resource: "pods", Namespace: "a"},
		"POST /api/v1/namespaces/a/pods":                                   {Verb: "create", Resource: "pods", Namespace: "a"},
		"DELETE /api/v1/namespaces/a/pods":                                 {Verb: "deletecollection", Resource: "pods", Namespace: "a"},
		"GET /api/v1/namespaces/a/pods/b?watch=1":                          {Verb: "get", Resource: "pods", Namespace: "a", Name: "b"},
		"PUT /api/v1/namespaces/a/pods/b/status":                           {Verb: "update", Resource: "pods", Subresource: "status", Namespace: "a", Name: "b"},
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale":             {Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "b"},
		"GET /api/v1/namespaces":                                           {Verb: "list", Resource: "namespaces"},
		"GET /api/v1/namespaces/a":                                         {Verb: "get", Resource: "namespaces", Namespace: "a", Name: "a"},
		"PUT /api/v1/namespaces/a/status":                                  {Verb: "update", Resource: "namespaces", Subresource: "status", Namespace: "a", Name: "a"},
		"GET /api/v1/pods?fieldSelector=metadata.name%3Db":                 {Verb: "list", Resource: "pods", Name: "b"},
		"GET /api/v1/pods?fieldSelector=metadata.name%21%3Db":              {Verb: "list", Resource: "pods"},
		"GET /api/v1/pods?fieldSelector=metadata.name%3Db,a%3Db":           {Verb: "list", Resource: "pods", Name: "b"},
		"GET /api/v1/pods?fieldSelector=metadata.namespace%3Db":            {Verb: "list", Resource: "pods"},
		"GET /api/v1/pods?fieldSelector=metadata.name%20in%20(b)":          {Verb: "list", Resource: "pods"},
		"DELETE /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db": {Verb: "deletecollection", Resource: "pods", Namespace: "a", Name: "b"},
		"POST /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db":   {Verb: "create", Resource: "pods", Namespace: "a"},
		"GET /v1/keys/":                                                    {Verb: "list", Key: "/"},
		"GET /v1/keys":                                                     {Verb: "list", Key: "/"},
		"GET /v1/keys/app/config":                                          {Verb: "get", Key: "/app/config"},
		"GET /v1/keys/app/config?watch":                                    {Verb: "watch", Key: "/app/config"},
		"GET /v1/keys/app/config/":                                         {Verb: "list", Key: "/app/config/"},
		"GET /v1/keys/app/config/?watch=1":                                 {Verb: "watch", Key: "/app/config/"},
		"GET /v1/keys?watch&key=b&key=/c/&key=/c/d&key64=YQ":               {Verb: "watch", Key: "/c/", Keys: []string{"a", "b"}},
		"PUT /v1/keys/app/config":                                          {Verb: "update", Key: "/app/config"},
		"DELETE /v1/keys/app/":                                             {Verb: "delete", Key: "/app/"},
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
