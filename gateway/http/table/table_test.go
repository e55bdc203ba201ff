package table

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/resource"
)

// testNow is the time at which these tests show tables.
var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestFor checks which table a resource without a mount has.
func TestFor(t *testing.T) {
	const whole = `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T12:00:00+01:00"},"spec":{"scope":"Cluster","group":"g","names":{"kind":"K","shortNames":["k","kk"]},
		"versions":[{"name":"v2","served":true},{"name":"v1","served":true,"storage":true},{"name":"v0"}]},"status":{"conditions":[{"type":"Established","status":"True"}]}}`
	const old, bare = `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T12:00:00+01:00"}}`, `{"metadata":{"name":"a"}}`
	definition := &resource.Resource{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	widget := &resource.Resource{Group: "example.com", Kind: "Widget"}
	columns := []resource.Column{{Name: "Color", Type: "string", JSONPath: ".spec.color"}}
	for _, test := range []struct {
		name     string
		resource *resource.Resource
		doc      string
		want     []any
	}{
		{"a definition", definition, whole, []any{"a", "Cluster", "v1(storage),v2", "2026-11-20T11:00:00Z", "g", "K", "k,kk", true}},
		{"a definition without a time", definition, bare, []any{"a", "", "", "<unknown>", "", "", "", false}},
		{"a scale", resource.ScaleKind, `{"metadata":{"name":"a"},"spec":{"replicas":2},"status":{}}`, []any{"a", int64(2), int64(0), "<unknown>"}},
		{"a kind of the name of definitions", &resource.Resource{Group: "example.com", Kind: definition.Kind}, old, []any{"a", "25h"}},
		{"neither columns nor a printer", widget, old, []any{"a", "25h"}},
		{"neither columns nor a printer nor a time", widget, bare, []any{"a", "<unknown>"}},
		{"columns", &resource.Resource{Columns: columns}, `{"metadata":{"name":"a"},"spec":{"color":"red"}}`, []any{"a", "red"}},
		{"a printer and columns", &resource.Resource{Columns: columns, Printer: testPrinter{}}, old, []any{int64(1), "a"}},
	} {
		table := For(test.resource)
		if cells := table.Cells([]byte(test.doc), testNow); !cmp.Equal(cells, test.want) || table.Len() != len(cells) {
			t.Errorf("%s: %d columns, cells %v, want %v", test.name, table.Len(), cells, test.want)
		}
	}
}
