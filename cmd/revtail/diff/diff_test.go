package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocuments(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", `{"a":1}`, `{ "a": 1 }`, nil},
		{"a number", `{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`, []string{"-spec.replicas: 1", "+spec.replicas: 2"}},
		{"a large number", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"-a: 9007199254740993", "+a: 9007199254740992"}},
		{"a member comes", `{}`, `{"metadata":{"labels":{"app.kubernetes.io/name":"web"}}}`, []string{`+metadata.labels["app.kubernetes.io/name"]: "web"`}},
		{"a member goes", `{"a":{"b":[],"c":null}}`, `{}`, []string{"-a.b: []", "-a.c: null"}},
		{"null is not absence", `{"a":null}`, `{}`, []string{"-a: null"}},
		{"another type", `{"a":"1"}`, `{"a":{"b":1}}`, []string{`-a: "1"`, "+a.b: 1"}},
		{"a line of a text", `{"a":"1\n2\n3\n4\n"}`, `{"a":"1\n2\nx\n4\n"}`, []string{" a:", "   2", "-  3", "+  x", "   4"}},
		{"lines move", `{"a":"1\n2\n3"}`, `{"a":"2\n3\n1"}`, []string{" a:", "-  1", "   2", "   3", "+  1"}},
		{"a text comes", ``, `{"a":"1\n2\n"}`, []string{"+a:", "+  1", "+  2"}},
		{"elements by name", `{"c":[{"name":"x","v":1},{"name":"y","v":1}]}`, `{"c":[{"name":"y","v":2},{"name":"z","v":1}]}`,
			[]string{`-c[x].name: "x"`, "-c[x].v: 1", "-c[y].v: 1", "+c[y].v: 2", `+c[z].name: "z"`, "+c[z].v: 1"}},
		{"elements by place", `{"c":[1,2,3,4]}`, `{"c":[1,3,4]}`, []string{"-c[1]: 2"}},
		{"control characters", `{"a":"x"}`, `{"a":"\u001b[2J\u202e\n\u009b"}`, []string{" a:", "-  x", `+  \x1b[2J\u202e`, `+  \u009b`}},
		{"control characters in a key", `{}`, `{"\u009b":1}`, []string{`+["\u009b"]: 1`}},
		{"skipped", `{"s":{"a":1},"b":1}`, `{"s":{"a":2},"b":2}`, []string{"-b: 1", "+b: 2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before []byte
			if test.before != "" {
				before = []byte(test.before)
			}
			lines, err := Documents(before, []byte(test.after), func(path string) bool { return path == "s" })
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range lines {
				got = append(got, string(line.Op)+line.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLongTexts checks that texts above maxCells are replaced as a whole, without a comparison.
func TestLongTexts(t *testing.T) {
	before, after := strings.Repeat(`a\n`, 20_000), strings.Repeat(`b\n`, 20_000)
	lines, err := Documents([]byte(`{"a":"`+before+`"}`), []byte(`{"a":"`+after+`"}`), func(string) bool { return false })
	if err != nil || len(lines) < 40_000 {
		t.Errorf("%d lines, error %v; want all lines of both", len(lines), err)
	}
}

func TestMalformed(t *testing.T) {
	if _, err := Documents([]byte(`{`), []byte(`{}`), nil); err == nil {
		t.Error("a malformed document is accepted")
	}
}
