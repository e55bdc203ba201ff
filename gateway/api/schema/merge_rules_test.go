package schema

import (
	"slices"
	"testing"

	"revtail/gateway/api/customresource"
	"revtail/gateway/api/kinds"
)

// TestMergeRulesNameExistingFields fails if Kubernetes removes a field that has a merge rule.
func TestMergeRulesNameExistingFields(t *testing.T) {
	set := make(Set)
	for _, res := range append(kinds.Builtin(), customresource.Kind()) {
		set.AddResource(res)
	}
	for name, m := range mergeRules {
		s, ok := set[name]
		if !ok {
			t.Errorf("no kind has a %s", name)
			continue
		}
		fields := slices.Concat(m.fields, m.sets)
		for _, field := range m.granular {
			if property := s.Properties[field]; property.Ref.String() == "" && len(property.AllOf) == 0 {
				t.Errorf("%s has no field %s", name, field)
			}
		}
		for field := range m.maps {
			fields = append(fields, field)
		}
		for field := range m.defaults {
			fields = append(fields, field)
		}
		for _, field := range fields {
			if property := s.Properties[field]; len(property.Type) == 0 {
				t.Errorf("%s has no field %s", name, field)
			}
		}
		for list, keys := range m.maps {
			item := s.Properties[list].Items.Schema.Ref.String()
			for _, key := range keys {
				if _, ok := set[item[len("#/components/schemas/"):]].Properties[key.(string)]; !ok {
					t.Errorf("%s.%s: its elements have no field %s", name, list, key)
				}
			}
		}
	}
}

// TestListTypes checks the list types of fields with tags, and of those without.
func TestListTypes(t *testing.T) {
	set := make(Set)
	for _, res := range kinds.Builtin() {
		set.AddResource(res)
	}
	for _, test := range []struct{ schema, field, listType, mapType string }{
		{"io.k8s.api.core.v1.PodSpec", "containers", "map", ""},
		{"io.k8s.api.core.v1.Container", "ports", "map", ""},
		{"io.k8s.api.core.v1.Container", "args", "atomic", ""},
		{"io.k8s.api.core.v1.ServiceSpec", "selector", "", "atomic"},
		{"io.k8s.api.core.v1.PodStatus", "hostIPs", "atomic", ""},
		{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers", "set", ""},
		{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences", "map", ""},
		{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "labels", "", ""},
	} {
		property := set[test.schema].Properties[test.field]
		text := func(extension string) string { s, _ := property.Extensions.GetString(extension); return s }
		if text(listTypeExtension) != test.listType || text(mapTypeExtension) != test.mapType {
			t.Errorf("%s.%s: %v", test.schema, test.field, property.Extensions)
		}
		if _, keyed := property.Extensions[listMapKeysExtension]; keyed != (test.listType == "map") {
			t.Errorf("%s.%s: %v", test.schema, test.field, property.Extensions)
		}
	}
	port := set["io.k8s.api.core.v1.ContainerPort"].Properties["protocol"]
	if port.Default != "TCP" {
		t.Errorf("the default protocol of a port is %v", port.Default)
	}
}
