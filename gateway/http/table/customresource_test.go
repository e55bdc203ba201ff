package table

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/resource"
)

// columnsOf returns the columns of a resource without a printer.
func columnsOf(res *resource.Resource) Columns { return For(res).(Columns) }

// TestDefinedColumns checks the columns of a definition by type.
func TestDefinedColumns(t *testing.T) {
	const doc = `{"metadata":{"name":"w","creationTimestamp":"2026-11-21T11:00:00Z","labels":{"a.b/c":"x"}},` +
		`"spec":{"n":3,"f":1.5,"big":123456789012345678901,"b":false,"s":"red","list":["a","b"],"map":{"k":"<v>"},"nil":null,` +
		`"conditions":[{"type":"Ready","status":"True"},{"type":"Synced","status":"False"}]}}`
	for _, test := range []struct {
		kind, path string
		want       any
	}{
		{"integer", ".spec.n", int64(3)},
		{"integer", ".spec.f", int64(1)},
		{"integer", ".spec.s", nil},
		{"number", ".spec.f", 1.5},
		{"number", ".spec.big", json.Number("123456789012345678901")},
		{"number", ".spec.b", nil},
		{"boolean", ".spec.b", false},
		{"boolean", ".spec.n", nil},
		{"string", ".spec.s", "red"},
		{"string", ".spec.n", "3"},
		{"string", ".spec.b", "false"},
		{"string", ".spec.list", `["a","b"]`},
		{"string", ".spec.list[1]", "b"},
		{"string", ".spec.map", `{"k":"<v>"}`},
		{"string", ".spec.nil", nil},
		{"string", ".spec.absent.deep", nil},
		{"string", `.metadata.labels.a\.b/c`, "x"},
		{"string", `.spec.conditions[?(@.type=="Ready")].status`, "True"},
		{"string", `.spec.conditions[?(@.type=="None")].status`, nil},
		{"string", ".spec.[", nil},
		{"date", ".metadata.creationTimestamp", "60m"},
		{"date", ".spec.s", "<invalid>"},
		{"date", ".spec.absent", nil},
		{"bogus", ".spec.s", nil},
	} {
		cs := columnsOf(&resource.Resource{Columns: []resource.Column{{Name: "C", Type: test.kind, JSONPath: test.path, Priority: 2}}})
		if got := cs.Cells([]byte(doc), testNow); !cmp.Equal(got, []any{"w", test.want}) {
			t.Errorf("%s of %s: %v, want %v", test.kind, test.path, got[1], test.want)
		}
		if cs[0].name != "Name" || cs[1].name != "C" || cs[1].priority != 2 {
			t.Errorf("the columns are %v", cs)
		}
	}
}

// TestDefinedColumnsTakeAnyShape checks any path on any object.
func TestDefinedColumnsTakeAnyShape(t *testing.T) {
	paths := []string{"", ".", "..", "$", "@", ".a", ".a.b", "..b", ".a[0]", ".a[-1]", ".a[9]", ".a[0:2]", ".a[*].b", ".*", ".a[?(@.b>1)].c", `.a[?(@.b=="x")].c`,
		".a[?(@.b)].c", "['a']", ".a['b','c']", "}{range .a[*]}{.b}{end}{.a", "}{range .a[*]}{.b", "}text{.a", ".a[?(@.b==", ".a[", ".a[0", "['a", "{", "\"x\""}
	object := map[string]any{"a": []any{map[string]any{"b": int64(2), "c": "x"}, map[string]any{"b": "x", "c": []any{}}}, "b": nil}
	for _, path := range paths {
		for _, kind := range []string{"string", "integer", "number", "boolean", "date"} {
			c := columnsOf(&resource.Resource{Columns: []resource.Column{{Name: "C", Type: kind, JSONPath: path}}})[1]
			damage(object, func() {
				cell := c.cell(jsonValue{object}, testNow)
				if _, err := json.Marshal(cell); err != nil {
					t.Fatalf("%s of %s: %v", kind, path, err)
				}
			})
		}
	}
}
