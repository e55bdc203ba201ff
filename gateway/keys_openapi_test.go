package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"revtail/gateway/http/response"
	"revtail/gateway/keys/keyrange"
)

// keysDescription is the OpenAPI document as a client reads it.
type keysDescription struct {
	t        *testing.T
	document map[string]any
	schemas  *jsonschema.Compiler
}

func describeKeys(t *testing.T, s *testServer) keysDescription {
	t.Helper()
	a := s.get("/v1/openapi.json")
	if a.code != http.StatusOK || a.header.Get("Content-Type") != response.JSON {
		t.Fatalf("%d %v", a.code, a.header)
	}
	d := keysDescription{t, a.json(t), jsonschema.NewCompiler()}
	if err := d.schemas.AddResource("openapi.json", d.document); err != nil {
		t.Fatal(err)
	}
	return d
}

// at returns the value at a path in the document.
func (d keysDescription) at(path ...string) map[string]any {
	d.t.Helper()
	here := d.document
	for _, name := range path {
		next, ok := here[name].(map[string]any)
		if !ok {
			d.t.Fatalf("the document has no %v", path)
		}
		here = next
	}
	return here
}

// check validates a response against the schema at a path.
func (d keysDescription) check(what, text string, path ...string) {
	d.t.Helper()
	d.at(path...)
	for i, name := range path {
		path[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
	}
	schema, err := d.schemas.Compile("openapi.json#/" + strings.Join(path, "/"))
	if err != nil {
		d.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		d.t.Errorf("%s: %s\n%v", what, text, err)
	}
}

// checkAnswer validates a response against the description of its URL, method and code.
func (d keysDescription) checkAnswer(path, method string, a answer) {
	d.t.Helper()
	code := fmt.Sprint(a.code)
	if _, said := d.at("paths", path, method, "responses")[code]; !said {
		code = "default"
	}
	d.check(method+" "+path, a.body, "paths", path, method, "responses", code, "content", a.header.Get("Content-Type"), "schema")
}

// TestKeysOpenAPI checks that the responses of the keys API match its description.
func TestKeysOpenAPI(t *testing.T) {
	s := newTestServer(t)
	d := describeKeys(t, s)
	first := s.putKeys("/app/a", `{"n":1}`, "/app/b", "text", "/app/c/d", "\xff", "/app/\xfe", "1", "flat", "0")
	s.do(http.MethodPut, "/v1/keys/app/leased?ttl=30s", "1")
	const one, keys = "/v1/keys/{key}", "/v1/keys"
	for _, query := range []string{"", "?limit=1", "?keysOnly", "?count", "?depth=1", "?encoding=base64", "?encoding=hex", "?encoding=base64&fields=a", fmt.Sprintf("?at=%d", first), "?at=99", "?limit=x", "?limt=1",
		fmt.Sprintf("?wait=1ms&since=%d", first), fmt.Sprintf("?wait=1m&since=%d&prev", first-1)} {
		d.checkAnswer(one, "get", s.get("/v1/keys/app/"+query))
	}
	for _, path := range []string{"/a", "/none", "?watch", "/../a"} {
		d.checkAnswer(one, "get", s.get("/v1/keys/application"+path))
	}
	d.checkAnswer(keys, "get", s.get("/v1/keys?key=flat"))
	d.checkAnswer(keys, "get", s.get("/v1/keys?key=flat&key=/app/"))
	d.checkAnswer(one, "put", s.do(http.MethodPut, "/v1/keys/app/new?ttl=1m", "1"))
	d.checkAnswer(one, "put", s.do(http.MethodPut, "/v1/keys/app/new", "1", "If-None-Match", "*"))
	d.checkAnswer(one, "put", s.do(http.MethodPut, "/v1/keys/read/a", "1"))
	d.checkAnswer(one, "put", s.do(http.MethodPut, "/v1/keys/app/new", strings.Repeat("x", 4<<20)))
	d.checkAnswer(one, "delete", s.do(http.MethodDelete, "/v1/keys/app/new", ""))
	d.checkAnswer(keys, "delete", s.do(http.MethodDelete, "/v1/keys?key=/app/c/&prefix=true", ""))
	for _, body := range []string{
		`{"compare":[{"key":"/app/a","exists":true}],"then":[{"put":{"key":"/app/x","value":1,"ttl":"1m"}},{"get":{"key":"/app/a"}},{"get":{"key":"/app/none"}},{"delete":{"key":"/app/b"}}]}`,
		`{"compare":[{"key":"/app/a","is":"<","version":1}],"else":[{"delete":{"key":"/app/c/","prefix":true}}]}`,
		`{"when":1}`,
	} {
		a := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", response.JSON)
		d.checkAnswer("/v1/txn", "post", a)
		if a.code == http.StatusOK {
			d.check("the body of a transaction", body, "paths", "/v1/txn", "post", "requestBody", "content", response.JSON, "schema")
		}
	}
	d.checkAnswer("/v1/tickets", "post", s.do(http.MethodPost, "/v1/tickets", `{"path":"/v1/keys/app/"}`))
	d.checkAnswer("/v1/tickets", "post", s.do(http.MethodPost, "/v1/tickets", `{}`))
	d.checkStream(s)
}

// checkStream validates the frames of watches against the description: initial events, changes, and errors.
func (d keysDescription) checkStream(s *testServer) {
	l := s.follow("/v1/keys/app/?watch&prev")
	s.putKeys("/app/a", "2")
	s.store.Txn(nil, []string{"/app/a"})
	newest := s.putKeys("/app/last", "1")
	if err := s.store.Compact(newest); err != nil {
		d.t.Fatal(err)
	}
	seen := map[string]bool{}
	read := func(l *lines, until string) {
		for line := ""; !strings.Contains(line, until); {
			var err error
			if line, err = l.reader.ReadString('\n'); err != nil {
				d.t.Fatal(err)
			}
			d.check("a frame", line, "paths", "/v1/keys/{key}", "get", "responses", "200", "content", "application/x-ndjson", "schema")
			var frame struct{ Type string }
			if err := json.Unmarshal([]byte(line), &frame); err != nil {
				d.t.Fatal(err)
			}
			seen[frame.Type] = true
		}
	}
	read(l, `"/app/last"`)
	read(s.follow("/v1/keys/app/?watch&since=1"), "ERROR")
	if want := []string{"DELETE", "ERROR", "PUT", "SYNC"}; !slices.Equal(slices.Sorted(maps.Keys(seen)), want) {
		d.t.Errorf("frames of %v, want %v", seen, want)
	}
}

// TestKeysOpenAPIParameters checks that the description has exactly the existing parameters.
func TestKeysOpenAPIParameters(t *testing.T) {
	d := describeKeys(t, newTestServer(t))
	for _, test := range []struct {
		method string
		kinds  []string
		more   []string
	}{{"get", []string{"a read", "a watch"}, []string{"ticket"}}, {"put", []string{"PUT"}, nil}, {"delete", []string{"DELETE"}, nil}} {
		want := test.more
		for _, kind := range test.kinds {
			want = append(want, keyrange.Parameters[kind]...)
		}
		slices.Sort(want)
		var said []string
		for _, p := range d.at("paths", "/v1/keys/{key}", test.method)["parameters"].([]any) {
			if p := p.(map[string]any); p["in"] == "query" {
				said = append(said, p["name"].(string))
			}
		}
		slices.Sort(said)
		if diff := cmp.Diff(slices.Compact(want), said); diff != "" {
			t.Errorf("%s (-existing +described): %s", test.method, diff)
		}
	}
}
