package customresource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding"
)

// TestDecodeDefinition checks that a definition that a kube-apiserver has stored as v1beta1 is one of v1.
func TestDecodeDefinition(t *testing.T) {
	want := &apiextensionsv1.CustomResourceDefinition{}
	want.Name, want.UID = "widgets.example.com", "u"
	want.APIVersion, want.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	want.Spec.Group, want.Spec.Names = "example.com", apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"}
	want.Spec.Scope = apiextensionsv1.NamespaceScoped
	want.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	for _, version := range []string{"v1", "v2"} {
		want.Spec.Versions = append(want.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: version == "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{version: {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"a"`)}}}}},
		})
	}
	stored := storeAsBeta(t, want)
	served, err := decodeDefinition(stored)
	if err != nil {
		t.Fatalf("%v\n%s", err, stored)
	}
	if _, err := encoding.Normalize(served, encoding.Identity{APIVersion: want.APIVersion, Kind: want.Kind, Name: want.Name}, 7); err != nil {
		t.Errorf("%v\n%s", err, served)
	}
	got := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(served, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// storeAsBeta returns a definition as a kube-apiserver stores it.
func storeAsBeta(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) []byte {
	t.Helper()
	internal, err := definitionScheme.ConvertToVersion(definition, runtimeschema.GroupVersion{Group: apiextensionsv1.GroupName, Version: "__internal"})
	if err != nil {
		t.Fatal(err)
	}
	beta, err := definitionScheme.ConvertToVersion(internal, apiextensionsv1beta1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(beta)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}
