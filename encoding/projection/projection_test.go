package projection

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestProject(t *testing.T) {
	const doc = `{"a":{"b":1,"c":{"d":[{"e":1,"f":2},{"e":3},4]},"x.y/z":"s"},"b\u0062":[1,2,3],"n":null,"o":{}}`
	for _, test := range []struct{ fields, want string }{
		{`a.b`, `{"a":{"b":1}}`},
		{`.a.b,$.n`, `{"a":{"b":1},"n":null}`},
		{` a.b , n `, `{"a":{"b":1},"n":null}`},
		{`$.a.b`, `{"a":{"b":1}}`},
		{`a,a.b`, `{"a":{"b":1,"c":{"d":[{"e":1,"f":2},{"e":3},4]},"x.y/z":"s"}}`},
		{`a.b.c`, `{"a":{}}`}, // b is a number
		{`zz`, `{}`},
		{`o.p`, `{"o":{}}`},
		{`a['x.y/z']`, `{"a":{"x.y/z":"s"}}`},
		{`a["x.y/z"],n`, `{"a":{"x.y/z":"s"},"n":null}`},
		{`a.x\.y/z`, `{"a":{"x.y/z":"s"}}`},
		{`['a']['b']`, `{"a":{"b":1}}`},
		{`bb`, `{"b\u0062":[1,2,3]}`},
		{`bb[0],bb[2],bb[9]`, `{"b\u0062":[1,3]}`},
		{`bb[1].x`, `{"b\u0062":[]}`},
		{`a.c.d[*].e`, `{"a":{"c":{"d":[{"e":1},{"e":3}]}}}`},
		{`a.c.d[*].e,a.c.d[0].f`, `{"a":{"c":{"d":[{"e":1,"f":2},{"e":3}]}}}`},
		{`a.c.d[1]`, `{"a":{"c":{"d":[{"e":3}]}}}`},
		{`a.*.d[2]`, `{"a":{"c":{"d":[4]}}}`},
		{`$`, doc},
		{`*`, doc},
	} {
		p, err := Parse(test.fields)
		if err != nil {
			t.Errorf("%s: %v", test.fields, err)
			continue
		}
		if got := string(p.Project([]byte(doc))); got != test.want {
			t.Errorf("%s: %s, want %s", test.fields, got, test.want)
		}
	}
}

func TestProjectionAlwaysAndWithin(t *testing.T) {
	p, err := Parse("x", "kind", "metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Project([]byte(`{"kind":"K","metadata":{"name":"n","uid":"u"},"x":1,"y":2}`))), `{"kind":"K","metadata":{"name":"n"},"x":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	within := p.Within("value")
	for doc, want := range map[string]string{
		`{"key":"/a","value":{"x":1,"y":2},"version":1}`: `{"key":"/a","value":{"x":1},"version":1}`,
		`{"key":"/a","value":"text","version":1}`:        `{"key":"/a","version":1}`,
	} {
		if got := string(within.Project([]byte(doc))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := p.Project([]byte(`"text"`)); got != nil {
		t.Errorf("%s of a text", got)
	}
}

func TestParseProjectionSaysWhere(t *testing.T) {
	for _, test := range []struct{ fields, want string }{
		{``, "fields: column 1: want a path, such as .metadata.name\n | \n | ^"},
		{`a,`, "fields: column 3: want a path"},
		{`a..b`, "fields: column 3: want a name: letters and the like, or [\"name\"] for others\n | a..b\n | ..^"},
		{`a.`, "fields: column 3: want a name"},
		{`a[`, "fields: column 3: want the number of an element"},
		{`a[-1]`, "fields: column 3: want the number of an element"},
		{`a[1:2]`, "fields: column 4: want ] here"},
		{`a[?(@.x)]`, "fields: column 3: want the number"},
		{`a[99999999]`, "fields: column 3: want the number"},
		{`a['b`, "fields: column 5: want ' here"},
		{`a b`, "fields: column 3: want a dot, a bracket or a comma"},
		{`{.a}`, "fields: column 1: want a name"},
		{`$a`, "fields: column 2: want a dot"},
		{`a\`, "fields: column 3: want a character behind the backslash"},
		{"\xff", "fields: they are not valid UTF-8"},
		{strings.Repeat("a", 5000), "fields: they have 5000 bytes: 4096 are the limit"},
		{strings.Repeat("a,", 200) + "a", "there are more than 128 paths"},
	} {
		if _, err := Parse(test.fields); err == nil || !strings.HasPrefix(err.Error(), test.want) && !strings.Contains(err.Error(), "more than") {
			t.Errorf("%.20q: %v, want %q", test.fields, err, test.want)
		}
	}
}

// FuzzProjection checks that the projection of any document is JSON and a part of the document, and that projecting it again changes
// nothing.
func FuzzProjection(f *testing.F) {
	f.Add(`a.b,c[0]`, `{"a":{"b":[1,{"d":2}]},"c":[1,2]}`)
	f.Add(`a['x'].*[*]`, `{"a":{"x":{"\u0061":[1]}}}`)
	f.Fuzz(func(t *testing.T, fields, doc string) {
		p, err := Parse(fields)
		if err != nil || !utf8.ValidString(doc) || !json.Valid([]byte(doc)) {
			return
		}
		got := p.Project([]byte(doc))
		if got == nil {
			return
		}
		if !json.Valid(got) || len(got) > len(doc) {
			t.Fatalf("%q of %q is %q", fields, doc, got)
		}
		var all, part any
		if json.Unmarshal([]byte(doc), &all) != nil || json.Unmarshal(got, &part) != nil {
			t.Fatalf("%q of %q is %q", fields, doc, got)
		}
		if strings.ContainsAny(fields, "[*") {
			return // elements move to the front
		}
		if again := p.Project(got); !cmp.Equal(string(again), string(got)) {
			t.Errorf("%q, projected again %q", got, again)
		}
	})
}

func BenchmarkProject(b *testing.B) {
	p, err := Parse(".spec.replicas", "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion")
	if err != nil {
		b.Fatal(err)
	}
	doc := []byte(`{"apiVersion":"v1","kind":"K","metadata":{"name":"n","namespace":"ns","resourceVersion":"5"},"spec":{"replicas":3,"text":"` + strings.Repeat("x", 1024) + `"}}`)
	b.ReportAllocs()
	for b.Loop() {
		p.Project(doc)
	}
}
