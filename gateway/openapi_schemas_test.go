package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// kubectl explain shows them.
func TestSchemasOfKindsAreDescribed(t *testing.T) {
	s := describedServer(t, "")
	for _, group := range resource.Groups(s.catalog.Current().Registry.All()) {
		for _, version := range group.Versions {
			schemas := readOpenAPI(t, s, version.Path()).Components.Schemas
			for _, res := range version.Resources {
				schema := schemas[schema.KindName(res)]
				if schema == nil || schema.Description == "" {
					t.Errorf("%s is not described: %v", res.QualifiedName(), schema)
					continue
				}
				var kinds []map[string]string
				if err := schema.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil {
					t.Error(err)
				}
				want := []map[string]string{{"group": res.Group, "version": res.Version, "kind": res.Kind}}
				if diff := cmp.Diff(want, kinds); diff != "" {
					t.Errorf("%s (-want +got):\n%s", res.QualifiedName(), diff)
				}
				for name, property := range schema.Properties {
					if property.Description == "" {
						t.Errorf("%s.%s is not described", res.QualifiedName(), name)
					}
				}
			}
		}
	}
}
