package openapi

import (
	"os"
	"path/filepath"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	googleproto "google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/util/proto"
	"sigs.k8s.io/yaml"

	"revtail/gateway/api/customresource"
	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// TestOpenAPIV2OfOtherProjects checks that kubectl can read the schemas of other projects. `make tools` gets their definitions.
func TestOpenAPIV2OfOtherProjects(t *testing.T) {
	files, err := filepath.Glob("../../../bin/tools/definitions/*/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Skip("no definitions of other projects at bin/tools/definitions: `make tools` gets them")
	}
	var resources []*resource.Resource
	for _, file := range files {
		resources = append(resources, definedIn(t, file)...)
	}
	document := &openapiv2.Document{}
	if err := googleproto.Unmarshal(newV2(resource.Groups(resources), "v1").Protobuf().Body, document); err != nil {
		t.Fatal(err)
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range resources {
		if kind, ok := models.LookupModel(schema.KindName(res)).(*proto.Kind); !ok || kind.Fields["spec"] == nil {
			t.Errorf("%s: %+v", res.QualifiedName(), models.LookupModel(schema.KindName(res)))
		}
	}
}

// definedIn returns the resources of the definition in a file.
func definedIn(t *testing.T, file string) []*resource.Resource {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	definition, err := customresource.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := definition.Resources()
	if err != nil {
		t.Fatal(err)
	}
	return resources
}
