package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"github.com/google/go-cmp/cmp"
	googleproto "google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/api/openapi"
	"revtail/gateway/api/schema"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// olderProtobufV2Type is the name of the protobuf form in clients before Kubernetes 1.27.
const olderProtobufV2Type = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

func TestOpenAPIV2Forms(t *testing.T) {
	s := describedServer(t, "")
	for _, test := range []struct{ accept, want string }{
		{"", response.JSON},
		{"*/*", response.JSON},
		{response.JSON, response.JSON},
		{olderProtobufV2Type, openapi.ProtobufV2},
		{openapi.ProtobufV2, openapi.ProtobufV2},
		{openapi.ProtobufV2 + ", " + response.JSON, openapi.ProtobufV2},
		{response.JSON + ";q=0.5, " + olderProtobufV2Type, openapi.ProtobufV2},
	} {
		w := ask(t, s, "/openapi/v2", "Accept", test.accept)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != test.want || w.Header().Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %d %v", test.accept, w.Code, w.Header())
		}
		etag := w.Header().Get("ETag")
		if w := ask(t, s, "/openapi/v2", "Accept", test.accept, "If-None-Match", etag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("Accept %q with its ETag %s: %d", test.accept, etag, w.Code)
		}
	}
	if w := ask(t, s, "/openapi/v2", "Accept", "text/html"); w.Code != http.StatusNotAcceptable {
		t.Errorf("as HTML: %d", w.Code)
	}
}

func readSwagger(t *testing.T, s *Server) *spec.Swagger {
	t.Helper()
	document := &spec.Swagger{}
	askFor(t, s, "/openapi/v2", document)
	return document
}

// modelsOf reads the protobuf form as kubectl does.
func modelsOf(t *testing.T, s *Server) (proto.Models, *openapiv2.Document) {
	t.Helper()
	document := &openapiv2.Document{}
	if err := googleproto.Unmarshal(ask(t, s, "/openapi/v2", "Accept", olderProtobufV2Type).Body.Bytes(), document); err != nil {
		t.Fatal(err)
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		t.Fatal(err)
	}
	return models, document
}

func TestOpenAPIV2OfBuiltinKinds(t *testing.T) {
	s := describedServer(t, "")
	models, document := modelsOf(t, s)
	for _, res := range append(s.catalog.Current().Registry.All(), resource.Virtual()...) {
		model, ok := models.LookupModel(schema.KindName(res)).(*proto.Kind)
		if !ok || model.GetDescription() == "" {
			t.Errorf("%s: %T", res.QualifiedName(), models.LookupModel(schema.KindName(res)))
			continue
		}
		if _, ok := model.Fields["metadata"]; !ok {
			t.Errorf("%s has no metadata", res.QualifiedName())
		}
	}
	port := models.LookupModel("io.k8s.api.core.v1.ServicePort").(*proto.Kind).Fields["targetPort"].(proto.Reference)
	if number, ok := port.SubSchema().(*proto.Primitive); !ok || number.Type != "string" || number.Format != "int-or-string" {
		t.Errorf("a number or a string: %+v", port.SubSchema())
	}
	if !strings.HasPrefix(port.GetDescription(), "Number or name of the port") {
		t.Errorf("a reference is described as %q", port.GetDescription())
	}
	// kubectl looks for dryRun at the patch operation of a kind.
	for _, path := range document.GetPaths().GetPath() {
		if path.GetName() == "/api/v1/namespaces/{namespace}/pods/{name}" {
			if patch := path.GetValue().GetPatch().String(); !strings.Contains(patch, `"dryRun"`) || !strings.Contains(patch, "io.k8s.apimachinery.pkg.apis.meta.v1.Patch") {
				t.Errorf("patch: %s", patch)
			}
			return
		}
	}
	t.Error("a pod has no path")
}

// TestOpenAPIV2ReferencesExist checks that each reference has a definition.
func TestOpenAPIV2ReferencesExist(t *testing.T) {
	var document any
	askFor(t, describedServer(t, ""), "/openapi/v2", &document)
	definitions := document.(map[string]any)["definitions"].(map[string]any)
	walkJSON(document, func(name string, value any) {
		reference, ok := value.(string)
		if name != "$ref" || !ok {
			return
		}
		if target, ok := strings.CutPrefix(reference, "#/definitions/"); !ok || definitions[target] == nil {
			t.Errorf("%s does not exist", reference)
		}
	})
}

func TestOpenAPIV2FollowsDefinitions(t *testing.T) {
	s := newTestServer(t)
	before, _ := modelsOf(t, s.server)
	if before.LookupModel("com.example.v1.Widget") != nil {
		t.Fatal("the kind is described before its definition")
	}
	s.define(widgetsDefinition)
	models, _ := modelsOf(t, s.server)
	widget, ok := models.LookupModel("com.example.v1.Widget").(*proto.Kind)
	if !ok || widget.GetDescription() != "Widget is a thing of some color." {
		t.Fatalf("%+v", models.LookupModel("com.example.v1.Widget"))
	}
	if color := widget.Fields["spec"].(*proto.Kind).Fields["color"]; color.GetDescription() != "Its color." {
		t.Errorf("color: %+v", color)
	}
	want := []any{map[any]any{"group": "example.com", "version": "v1", "kind": "Widget"}}
	if diff := cmp.Diff(want, widget.GetExtensions()[schema.KindExtension]); diff != "" {
		t.Errorf("kind (-want +got):\n%s", diff)
	}
}

// TestUnknownFieldsAreDescribed checks that a custom resource without a schema, which may have any fields, is in v2 an object and nothing
// else, as in kube-apiserver, and that every custom resource has Kubernetes' description of its metadata.
func TestUnknownFieldsAreDescribed(t *testing.T) {
	s := newTestServer(t)
	s.define(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: blobs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: blobs, kind: Blob}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: any, x-kubernetes-preserve-unknown-fields: true}}}
`)
	got, err := json.Marshal(readSwagger(t, s.server).Definitions["com.example.v1.Blob"])
	want := `{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Blob","version":"v1"}]}`
	if err != nil || string(got) != want {
		t.Errorf("in v2: %s, want %s", got, want)
	}
	metadata := readOpenAPI(t, s.server, "apis/example.com/v1").Components.Schemas["com.example.v1.Blob"].Properties["metadata"]
	if !strings.HasPrefix(metadata.Description, "Standard object's metadata. More info: https://") {
		t.Errorf("the metadata in v3: %s", metadata.Description)
	}
}
