package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/spec3"

	"revtail/gateway/resource"
)

// openAPIPath returns the path of the document of a group and version, from the index.
func openAPIPath(t *testing.T, s *Server, version string) string {
	t.Helper()
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	askFor(t, s, "/openapi/v3", &index, "Accept", "application/json")
	return index.Paths[version].ServerRelativeURL
}

// readOpenAPI reads the document of a group and version as clients do.
func readOpenAPI(t *testing.T, s *Server, version string) *spec3.OpenAPI {
	t.Helper()
	document := &spec3.OpenAPI{}
	askFor(t, s, openAPIPath(t, s, version), document, "Accept", "application/json")
	return document
}

func TestOpenAPIIndex(t *testing.T) {
	s := describedServer(t, "")
	for _, version := range []string{"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/coordination.k8s.io/v1", "apis/events.k8s.io/v1"} {
		if url := openAPIPath(t, s, version); !strings.HasPrefix(url, "/openapi/v3/"+version+"?hash=") {
			t.Errorf("%s: %q", version, url)
		}
	}
	etag := ask(t, s, "/openapi/v3").Header().Get("ETag")
	if w := ask(t, s, "/openapi/v3", "If-None-Match", etag); w.Code != http.StatusNotModified {
		t.Errorf("with its ETag %s: %d", etag, w.Code)
	}
	for _, path := range []string{"/openapi/v3", "/openapi/v3/api/v1"} {
		if w := ask(t, s, path, "Accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"); w.Code != http.StatusNotAcceptable {
			t.Errorf("%s as protobuf: %d", path, w.Code)
		}
	}
}

func TestOpenAPICaching(t *testing.T) {
	s := describedServer(t, "")
	url := openAPIPath(t, s, "apis/apps/v1")

	right := ask(t, s, url)
	expires, err := http.ParseTime(right.Header().Get("Expires"))
	if right.Code != http.StatusOK || right.Header().Get("Cache-Control") != "public, immutable" || err != nil || time.Until(expires) < 300*24*time.Hour {
		t.Errorf("right hash: %d %v", right.Code, right.Header())
	}
	if hash := strings.Trim(right.Header().Get("ETag"), `"`); !strings.HasSuffix(url, "?hash="+hash) {
		t.Errorf("right hash: ETag %s of %s", hash, url)
	}
	wrong := ask(t, s, "/openapi/v3/apis/apps/v1?hash=00")
	if wrong.Code != http.StatusMovedPermanently || wrong.Header().Get("Location") != url || strings.Contains(wrong.Header().Get("Cache-Control"), "public") {
		t.Errorf("wrong hash: %d %v", wrong.Code, wrong.Header())
	}
	none := ask(t, s, "/openapi/v3/apis/apps/v1")
	if none.Code != http.StatusOK || none.Header().Get("ETag") != right.Header().Get("ETag") || strings.Contains(none.Header().Get("Cache-Control"), "public") {
		t.Errorf("no hash: %d %v", none.Code, none.Header())
	}
	if w := ask(t, s, "/openapi/v3/apis/apps/v1", "If-None-Match", none.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("no hash, with its ETag: %d, %d bytes", w.Code, w.Body.Len())
	}
}

// kubectl looks for these before it writes: the patch operation of a kind, its parameter fieldValidation, and its patch types.
func TestOpenAPIPatchOperations(t *testing.T) {
	s := describedServer(t, "")
	for _, group := range resource.Groups(s.catalog.Current().Registry.All()) {
		for _, version := range group.Versions {
			document := readOpenAPI(t, s, version.Path())
			for _, res := range version.Resources {
				op := patchOperation(t, document, res)
				if op == nil {
					t.Errorf("%s has no patch operation", res.QualifiedName())
					continue
				}
				for _, name := range []string{"dryRun", "fieldManager", "fieldValidation", "force"} {
					if !slices.ContainsFunc(op.Parameters, func(p *spec3.Parameter) bool { return p.Name == name && p.In == "query" }) {
						t.Errorf("%s: patch has no parameter %s", res.QualifiedName(), name)
					}
				}
				for _, media := range res.PatchTypes() {
					if op.RequestBody.Content[media] == nil {
						t.Errorf("%s: patch does not accept %s", res.QualifiedName(), media)
					}
				}
			}
		}
	}
}

func patchOperation(t *testing.T, document *spec3.OpenAPI, res *resource.Resource) *spec3.Operation {
	t.Helper()
	want := map[string]string{"group": res.Group, "version": res.Version, "kind": res.Kind}
	for _, path := range document.Paths.Paths {
		if path.Patch == nil {
			continue
		}
		var kind map[string]string
		if err := path.Patch.Extensions.GetObject("x-kubernetes-group-version-kind", &kind); err != nil {
			t.Fatal(err)
		}
		if cmp.Equal(want, kind) {
			return path.Patch
		}
	}
	return nil
}

// kubectl explain reads the schema, and kubectl edit the patch types of a kind.
func TestOpenAPIOfCustomResources(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	document := readOpenAPI(t, s.server, "apis/example.com/v1")
	schema := document.Components.Schemas["com.example.v1.Widget"]
	if schema == nil || schema.Description != "Widget is a thing of some color." {
		t.Fatalf("schema: %+v", schema)
	}
	var kinds []map[string]string
	if err := schema.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]map[string]string{{"group": "example.com", "version": "v1", "kind": "Widget"}}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if schema.Properties["apiVersion"].Description == "" || schema.Properties["kind"].Description == "" {
		t.Error("apiVersion and kind are not described")
	}
	if got := schema.Properties["metadata"].AllOf[0].Ref.String(); got != "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" {
		t.Errorf("metadata is %q", got)
	}
	const spec = `{"type":"object","description":"What the widget should be.","properties":{
		"color":{"type":"string","description":"Its color."},"size":{"type":"integer","default":3,"minimum":1},
		"replicas":{"type":"integer"},"max":{"type":"integer"},"port":{"x-kubernetes-int-or-string":true}},
		"x-kubernetes-validations":[{"rule":"!has(self.max) || self.size <= self.max","message":"size is greater than max"}]}`
	text, err := json.Marshal(schema.Properties["spec"])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decodeJSON(t, spec), decodeJSON(t, string(text))); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}

	const object = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"
	patch := document.Paths.Paths[object].Patch
	if patch.RequestBody.Content["application/strategic-merge-patch+json"] != nil || patch.RequestBody.Content["application/merge-patch+json"] == nil {
		t.Errorf("patches: %v", patch.RequestBody.Content)
	}
	for _, path := range []string{object + "/status", object + "/scale"} {
		if got := strings.Join(actions(document.Paths.Paths[path]), " "); got != "get put patch" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if document.Components.Schemas["io.k8s.api.autoscaling.v1.Scale"] == nil {
		t.Error("a Scale is not described")
	}
}

func TestOpenAPIPaths(t *testing.T) {
	s := describedServer(t, "")
	document := readOpenAPI(t, s, "api/v1")
	for path, want := range map[string]string{
		"/api/v1/configmaps":                                "list",
		"/api/v1/namespaces/{namespace}/configmaps":         "list post deletecollection",
		"/api/v1/namespaces/{namespace}/configmaps/{name}":  "get put patch delete",
		"/api/v1/namespaces/{namespace}/pods/{name}/status": "get put patch",
		"/api/v1/nodes":                                       "list post deletecollection",
		"/api/v1/nodes/{name}":                                "get put patch delete",
		"/api/v1/nodes/{name}/status":                         "get put patch",
		"/api/v1/namespaces/{namespace}/configmaps/{name}/no": "",
	} {
		if got := strings.Join(actions(document.Paths.Paths[path]), " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for plural, want := range map[string]string{"configmaps": "meta.v1.Status", "pods": "core.v1.Pod"} { // what the answer to a DELETE is
		answer := document.Paths.Paths["/api/v1/namespaces/{namespace}/"+plural+"/{name}"].Delete.Responses.StatusCodeResponses[http.StatusOK]
		if got := answer.Content["application/json"].Schema.Ref.String(); !strings.HasSuffix(got, want) {
			t.Errorf("DELETE of %s is answered with %s, want %s", plural, got, want)
		}
	}
}

func actions(path *spec3.Path) []string {
	if path == nil {
		return nil
	}
	var out []string
	for _, op := range []*spec3.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
		if op != nil {
			action, _ := op.Extensions.GetString("x-kubernetes-action")
			out = append(out, action)
		}
	}
	return out
}

// Generators of clients need complete documents.
func TestOpenAPIIsComplete(t *testing.T) {
	s := describedServer(t, "")
	for _, group := range resource.Groups(s.catalog.Current().Registry.All()) {
		for _, version := range group.Versions {
			var document map[string]any
			askFor(t, s, openAPIPath(t, s, version.Path()), &document)
			schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
			ids := map[string]bool{}
			walkJSON(document, func(name string, value any) {
				text, ok := value.(string)
				if !ok {
					return // a property with this name
				}
				switch name {
				case "$ref":
					if schemas[strings.TrimPrefix(text, "#/components/schemas/")] == nil {
						t.Errorf("%s: %s does not exist", version.Path(), text)
					}
				case "operationId":
					if ids[text] {
						t.Errorf("%s: two operations have the id %s", version.Path(), text)
					}
					ids[text] = true
				}
			})
		}
	}
}

// walkJSON visits every member of every object.
func walkJSON(value any, visit func(name string, value any)) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			visit(name, member)
			walkJSON(member, visit)
		}
	case []any:
		for _, item := range value {
			walkJSON(item, visit)
		}
	}
}

// kubectl apply makes its patches with the schemas, so a list must have the key of its elements.
func TestOpenAPIServesStrategicPatches(t *testing.T) {
	document := readOpenAPI(t, describedServer(t, ""), "apis/apps/v1")
	deployment := func(containers string) []byte {
		return []byte(`{"spec":{"template":{"spec":{"containers":[` + containers + `]}}}}`)
	}
	const a, a2, b, c = `{"name":"a","image":"x"}`, `{"name":"a","image":"y"}`, `{"name":"b","image":"x"}`, `{"name":"c","image":"x"}`
	schemas := document.Components.Schemas
	patch, err := strategicpatch.CreateThreeWayMergePatch(deployment(a+","+b), deployment(a2+","+b), deployment(a+","+b+","+c),
		strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: schemas, Schema: schemas["io.k8s.api.apps.v1.Deployment"]}, true)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	const expected = `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"a","image":"y"}]}}}}`
	if err := json.Unmarshal([]byte(expected), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
