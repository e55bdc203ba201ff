package schema

import (
	"reflect"
	"strings"
	"testing"

	"revtail/gateway/api/kinds"
)

// The names come from methods, and a struct inherits the methods of an embedded type: two types would have one name.
func TestSchemasAreNamedAfterTheirTypes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(rt reflect.Type) {
		switch rt.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(rt.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[rt] {
			return
		}
		seen[rt] = true
		if namer, ok := reflect.Zero(rt).Interface().(modelNamer); !ok || !strings.HasSuffix(namer.OpenAPIModelName(), "."+rt.Name()) {
			t.Errorf("%v has no name of its own", rt)
		}
		if _, ok := reflect.Zero(rt).Interface().(schemaTyper); ok {
			return
		}
		for i := range rt.NumField() {
			if field := rt.Field(i); !strings.HasPrefix(field.Tag.Get("json"), "-") {
				visit(field.Type)
			}
		}
	}
	for _, res := range kinds.Builtin() {
		visit(reflect.TypeOf(res.GoType))
	}
}
