package schema_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/api/customresource"
	"revtail/gateway/api/kinds"
	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// kubectl explain shows the descriptions.
func TestSchemasOfKindsAreDescribed(t *testing.T) {
	schemas := make(schema.Set)
	resources := slices.Concat(kinds.Builtin(), resource.Virtual(), []*resource.Resource{customresource.Kind()})
	for _, res := range resources {
		schemas.AddResource(res)
	}
	for _, res := range resources {
		s := schemas[schema.KindName(res)]
		if s == nil || s.Description == "" {
			t.Errorf("%s is not described: %v", res.QualifiedName(), s)
			continue
		}
		var kinds []map[string]string
		if err := s.Extensions.GetObject(schema.KindExtension, &kinds); err != nil {
			t.Error(err)
		}
		want := []map[string]string{{"group": res.Group, "version": res.Version, "kind": res.Kind}}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", res.QualifiedName(), diff)
		}
		for name, property := range s.Properties {
			if property.Description == "" && (res.Kind != "CertificateSigningRequest" || name != "metadata") { // Kubernetes does not describe it
				t.Errorf("%s.%s is not described", res.QualifiedName(), name)
			}
		}
	}
}
