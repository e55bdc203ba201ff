package manifest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"

func named(name string) string { return strings.Replace(example, "%s", name, 1) }

func TestParse(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string // names and sources
		err           string
	}{
		{"one", named("a"), []string{"a f"}, ""},
		{"comments and empty documents", "# text\n---\n---\n" + named("a") + "---\n# end\n", []string{"a f"}, ""},
		{"two", named("a") + "---\n" + named("b"), []string{"a f, document 1", "b f, document 2"}, ""},
		{"JSON values", `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"A","metadata":{"name":"b"}}`, []string{"a f, document 1", "b f, document 2"}, ""},
		{"YAML in braces", `{apiVersion: v1, kind: A, metadata: {name: a}}`, []string{"a f"}, ""},
		{"a List", `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}]}`, []string{"a f, item 1"}, ""},
		{"empty", "", nil, "f: there is no object in it"},
		{"comments", "# nothing\n---\n", nil, "f: there is no object in it"},
		{"an empty List", `{"kind":"List","apiVersion":"v1","items":[]}`, nil, "f: there is no object in it"},
		{"bytes", "\xff\xfe", nil, "f: this is neither YAML nor JSON: it is not UTF-8"},
		{"a text", "text", nil, "f: want an object"},
		{"an array", "[1]", nil, "f: want an object"},
		{"a wrong type", "apiVersion: v1\nkind: [a]\n", nil, "f: Kind is of the wrong type"},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}", nil, "f: kind is missing: want, for example, ConfigMap"},
		{"no name", "apiVersion: v1\nkind: A", nil, "f: metadata.name is missing"},
		{"a generated name", "apiVersion: v1\nkind: A\nmetadata: {generateName: a-}", nil, "f: the object has a generateName"},
		{"a path as name", named("a/b"), nil, `f: metadata.name "a/b"`},
		{"a key twice", named("a") + "kind: B\n", nil, `line 4: key "kind" already set in map`},
		{"the second is wrong", named("a") + "---\n" + "a: b: c", nil, "f, document 2: mapping values are not allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			documents, err := Parse("f", []byte(test.content))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			var got []string
			for _, d := range documents {
				got = append(got, d.Name+" "+d.Source)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("(-want +got)\n%s\n%v", diff, err)
			}
		})
	}
}

// TestNumbers checks that large numbers of JSON and of YAML keep their value.
func TestNumbers(t *testing.T) {
	for _, content := range []string{
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"size":9007199254740993}`,
		named("a") + "size: 9007199254740993\n",
	} {
		documents, err := Parse("f", []byte(content))
		if err != nil || !strings.Contains(string(documents[0].JSON), `"size":9007199254740993`) {
			t.Errorf("%s: %v %v", content, documents, err)
		}
	}
}

func TestReadSources(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"b.yml": named("b"), "a.json": `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`, "notes.txt": "no", "sub/c.yaml": named("c")} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	for _, test := range []struct {
		names     []string
		recursive bool
		want, err string
	}{
		{[]string{folder}, false, "a b", ""},
		{[]string{folder}, true, "a b c", ""},
		{[]string{"-", server.URL + "/b.yml"}, false, "stdin b", ""},
		{[]string{server.URL + "/none.yml"}, false, "", "404"},
		{[]string{filepath.Join(folder, "none.yaml")}, false, "", "no such file"},
	} {
		documents, err := Read(t.Context(), test.names, test.recursive, strings.NewReader(named("stdin")))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v: error %v, want %s", test.names, err, test.err)
			}
			continue
		}
		var got []string
		for _, d := range documents {
			got = append(got, d.Name)
		}
		if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("%v: %v %v, want %s", test.names, got, err, test.want)
		}
	}
}

// FuzzParse checks that an accepted document is JSON, and names its object.
func FuzzParse(f *testing.F) {
	f.Add([]byte(named("a") + "---\n" + named("b")))
	f.Add([]byte(`{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		documents, err := Parse("f", content)
		if err != nil {
			return
		}
		for _, d := range documents {
			if !json.Valid(d.JSON) || d.Name == "" || d.Kind == "" || d.APIVersion == "" || strings.ContainsAny(d.Name, "/%") {
				t.Errorf("%q: %+v", content, d)
			}
		}
	})
}
