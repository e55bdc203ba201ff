package resource

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOf checks that the resource of a key is that of Resource.Prefix, and that no resource has other keys.
func TestOf(t *testing.T) {
	resources := append(Builtin(), &Resource{Group: "example.com", Plural: "widgets"})
	for _, res := range resources {
		got, ok := Of("/registry", res.Prefix("/registry")+"default/a")
		if want := (schema.GroupResource{Group: res.Stored().Group, Resource: res.Plural}); !ok || got != want {
			t.Errorf("%v: %v, %v", want, got, ok)
		}
	}
	for _, key := range []string{"/registry", "/registry/", "/registry/secrets", "/registry/example.com/widgets", "/registry2/secrets/a", "/app/a", "revtail/compactor"} {
		if got, ok := Of("/registry", key); ok {
			t.Errorf("%s: %v", key, got)
		}
	}
}
