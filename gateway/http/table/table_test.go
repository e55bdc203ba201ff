package table

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"revtail/gateway/resource"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// testNow is the time at which these tests show tables.
var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestColumns compares the tables of the objects in testdata/tables.yaml with golden files; the wide columns are behind a bar.
func TestColumns(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "tables.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	out := tabwriter.NewWriter(&got, 0, 0, 3, ' ', 0)
	shown := ""
	for _, text := range bytes.Split(source, []byte("\n---\n")) {
		doc, kind := tableObject(t, text)
		cs := For(&resource.Resource{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
		if kind.String() != shown {
			shown = kind.String()
			flush(t, out)
			fmt.Fprintf(&got, "\n%s\n", kind.GroupVersion().WithKind(kind.Kind).GroupKind())
			_, _ = out.Write(line(cs, func(i int) any { return strings.ToUpper(cs[i].name) }))
		}
		cells := cs.Cells(doc, testNow)
		_, _ = out.Write(line(cs, func(i int) any { return cells[i] }))
	}
	flush(t, out)
	file := filepath.Join("testdata", "tables.golden")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs (-file +shown); after an intended change, run the test with -update:\n%s", file, diff)
	}
}

func flush(t *testing.T, out *tabwriter.Writer) {
	t.Helper()
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

// tableObject returns one of the objects in tables.yaml.
func tableObject(t *testing.T, text []byte) ([]byte, schema.GroupVersionKind) {
	t.Helper()
	doc, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ APIVersion, Kind string }
	if err := json.Unmarshal(doc, &object); err != nil {
		t.Fatal(err)
	}
	return doc, schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
}

func line(cs Columns, cell func(i int) any) []byte {
	var texts []string
	barred := false
	for i := range cs {
		if cs[i].priority > 0 && !barred {
			barred = true
			texts = append(texts, "|")
		}
		texts = append(texts, fmt.Sprint(cell(i)))
	}
	return []byte(strings.Join(texts, "\t") + "\n")
}

// TestEveryBuiltinKindHasColumns checks that no built-in kind has only name and age by mistake.
func TestEveryBuiltinKindHasColumns(t *testing.T) {
	for _, res := range resource.Builtin() {
		own, ok := builtinColumns[schema.GroupKind{Group: res.Group, Kind: res.Kind}]
		if !ok {
			t.Errorf("%s has no columns", res.QualifiedName())
		}
		if name := own[0].format; name != "name" && res.Kind != "Event" {
			t.Errorf("%s does not begin with the name", res.QualifiedName())
		}
	}
	if def := For(&resource.Resource{Kind: "Widget"}); len(def) != 2 || def[0].name != "Name" || def[1].name != "Age" {
		t.Errorf("a kind without columns has %v", def)
	}
}

// TestColumnsAreDescribed checks that each column has a description.
func TestColumnsAreDescribed(t *testing.T) {
	types := map[string]bool{"string": true, "integer": true, "date": true}
	for kind, cs := range builtinColumns {
		names := map[string]bool{}
		for _, c := range cs {
			if c.name == "" || names[c.name] || !types[c.kind] || !strings.HasSuffix(c.description, ".") {
				t.Errorf("%s: %+v", kind, c)
			}
			names[c.name] = true
		}
		if !json.Valid(cs.Definitions()) {
			t.Errorf("%s: %s", kind, cs.Definitions())
		}
	}
}

// shapes are values of wrong types.
var shapes = []string{`null`, `true`, `-1`, `1e400`, `""`, `"x"`, `[]`, `{}`, `[null]`, `[1,"x",[],{}]`, `{"a":null}`, `{"":{}}`}

// TestColumnsTakeAnyShape checks that any object has cells of the column's type, or null.
func TestColumnsTakeAnyShape(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "tables.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range bytes.Split(source, []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		for _, cs := range builtinColumns {
			damage(object, func() { checkCells(t, cs, object) })
		}
	}
}

// damage replaces each value inside a value with each of shapes, and calls check each time.
func damage(value any, check func()) {
	replace := func(old any, set func(any)) {
		for _, text := range shapes {
			var shape any
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			if decoder.Decode(&shape) == nil {
				set(shape)
				check()
			}
		}
		set(old)
		damage(old, check)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			replace(member, func(v any) { value[name] = v })
		}
	case []any:
		for i, element := range value {
			replace(element, func(v any) { value[i] = v })
		}
	}
}

func checkCells(t *testing.T, cs Columns, object map[string]any) {
	t.Helper()
	for _, c := range cs {
		switch cell := c.cell(jsonValue{object}, testNow).(type) {
		case string:
			if c.kind == "string" || c.kind == "date" {
				continue
			}
			t.Fatalf("%s: %v is a string", c.name, cell)
		case int64:
			if c.kind != "integer" {
				t.Fatalf("%s: %v is an integer", c.name, cell)
			}
		default:
			t.Fatalf("%s: %v", c.name, cell)
		}
	}
}

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
		cs := For(&resource.Resource{Columns: []resource.Column{{Name: "C", Type: test.kind, JSONPath: test.path, Priority: 2}}})
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
			c := For(&resource.Resource{Columns: []resource.Column{{Name: "C", Type: kind, JSONPath: path}}})[1]
			damage(object, func() {
				cell := c.cell(jsonValue{object}, testNow)
				if _, err := json.Marshal(cell); err != nil {
					t.Fatalf("%s of %s: %v", kind, path, err)
				}
			})
		}
	}
}
