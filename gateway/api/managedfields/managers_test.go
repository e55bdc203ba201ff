package managedfields

import (
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"revtail/gateway/api/kinds"
	"revtail/gateway/api/object"
	"revtail/gateway/api/schema"
)

// TestBuiltinKindsHaveTypes checks that the type of each field, and so its merge rule, is known for all built-in kinds.
func TestBuiltinKindsHaveTypes(t *testing.T) {
	for _, res := range kinds.Builtin() {
		schemas := make(schema.Set)
		schemas.AddResource(res)
		converter, err := managedfields.NewTypeConverter(schemas, true)
		if err != nil {
			t.Errorf("%s: %v", res.QualifiedName(), err)
			continue
		}
		objectValue := object.Empty(res)
		if _, err := converter.ObjectToTyped(objectValue.Unstructured); err != nil {
			t.Errorf("%s: %v", res.QualifiedName(), err)
		}
		if want := (runtimeschema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}); objectValue.GroupVersionKind() != want {
			t.Errorf("%s: empty is %v", res.QualifiedName(), objectValue.GroupVersionKind())
		}
	}
}
