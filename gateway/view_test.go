package gateway

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest/rawhttp"
)

const (
	tableV1        = "application/json;as=Table;v=v1;g=meta.k8s.io"
	tableV1beta1   = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
	metadataV1     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	metadataListV1 = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// text returns the text at a path of a decoded document; elements of arrays have the names "0", "1".
func text(t *testing.T, document any, path ...string) string {
	t.Helper()
	for _, name := range path {
		switch value := document.(type) {
		case map[string]any:
			document = value[name]
		case []any:
			if i := int(name[0] - '0'); i < len(value) {
				document = value[i]
			} else {
				document = nil
			}
		default:
			document = nil
		}
	}
	if s, ok := document.(string); ok {
		return s
	}
	out, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// wantAt checks the text at dotted paths of a document.
func wantAt(t *testing.T, document any, want map[string]string) {
	t.Helper()
	for path, value := range want {
		if got := text(t, document, strings.Split(path, ".")...); got != value {
			t.Errorf("%s: %s, want %s", path, got, value)
		}
	}
}

// TestFormsOfAnObject reads one object in each form, with the right Content-Type.
func TestFormsOfAnObject(t *testing.T) {
	s := newTestServer(t)
	revision := s.create("a")
	for _, test := range []struct {
		accept, contentType string
		want                map[string]string
	}{
		{"application/json", "application/json", map[string]string{"kind": "ConfigMap", "metadata.name": "a"}},
		{"application/yaml", "application/yaml", map[string]string{"kind": "ConfigMap", "metadata.name": "a", "metadata.resourceVersion": revision}},
		{metadataV1, "application/json", map[string]string{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata.name": "a",
			"metadata.resourceVersion": revision, "data": "null"}},
		{tableV1, "application/json", map[string]string{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata.resourceVersion": revision,
			"columnDefinitions.0.name": "Name", "columnDefinitions.0.type": "string", "columnDefinitions.0.format": "name",
			"rows.0.cells.0": "a", "rows.0.cells.1": "0", "rows.0.cells.3": "null", "rows.1": "null",
			"rows.0.object.kind": "PartialObjectMetadata", "rows.0.object.apiVersion": "meta.k8s.io/v1",
			"rows.0.object.metadata.name": "a", "rows.0.object.metadata.namespace": "default"}},
		{tableV1beta1, "application/json", map[string]string{"apiVersion": "meta.k8s.io/v1beta1", "rows.0.object.apiVersion": "meta.k8s.io/v1beta1"}},
	} {
		a := s.get(configMaps+"/a", "Accept", test.accept)
		if a.code != http.StatusOK || a.header.Get("Content-Type") != test.contentType || !strings.HasSuffix(a.body, "\n") {
			t.Errorf("%s: %d %s %s", test.accept, a.code, a.header.Get("Content-Type"), a.body)
		}
		wantAt(t, a.decoded(t), test.want)
	}
}

// decoded decodes the body, JSON or YAML.
func (a answer) decoded(t *testing.T) any {
	t.Helper()
	var out any
	if err := yaml.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("%v: %.200s", err, a.body)
	}
	return out
}

// TestFormsOfAList reads a list in each form, in pages.
func TestFormsOfAList(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	s.create("b")
	s.create("c")
	for _, test := range []struct {
		accept string
		want   map[string]string
	}{
		{"application/yaml", map[string]string{"kind": "ConfigMapList", "items.0.metadata.name": "a", "items.1.metadata.name": "b", "items.2": "null"}},
		{metadataListV1, map[string]string{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items.0.kind": "PartialObjectMetadata",
			"items.0.apiVersion": "meta.k8s.io/v1", "items.0.metadata.name": "a"}},
		{tableV1, map[string]string{"kind": "Table", "columnDefinitions.1.name": "Data", "rows.0.cells.0": "a", "rows.1.object.metadata.name": "b"}},
		{"application/yaml;as=Table;v=v1;g=meta.k8s.io", map[string]string{"kind": "Table", "rows.1.cells.0": "b"}},
	} {
		first := s.get(configMaps+"?limit=2", "Accept", test.accept)
		list := first.decoded(t)
		wantAt(t, list, test.want)
		wantAt(t, list, map[string]string{"metadata.remainingItemCount": "1"})
		rest := s.get(configMaps+"?limit=2&continue="+text(t, list, "metadata", "continue"), "Accept", test.accept)
		if rest.code != http.StatusOK || !strings.Contains(rest.body, "c") {
			t.Errorf("%s: the rest: %d %s", test.accept, rest.code, rest.body)
		}
	}
}

// TestFormsAgree checks that each form of a list has the same content.
func TestFormsAgree(t *testing.T) {
	s := newTestServer(t)
	for _, objects := range []int{0, 1, 3} {
		for range objects {
			s.do(http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"x"},"data":{"a":"1\n2\n","b":" x\n"}}`)
		}
		plain := s.get(configMaps).decoded(t)
		for _, header := range [][]string{{"Accept", "application/yaml"}, {"User-Agent", "curl/8"}, {"Accept", "application/json;pretty=1"}} {
			a := s.get(configMaps, header...)
			if diff := cmp.Diff(plain, a.decoded(t)); diff != "" {
				t.Errorf("%v: %s", header, diff)
			}
		}
	}
}

// TestPretty checks that browsers, and clients that ask for it, get indented JSON, and that other programs get a single line.
func TestPretty(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	for _, test := range []struct {
		query, agent string
		want         bool
	}{
		{"", "Go-http-client/1.1", false},
		{"", "curl/8.5.0", true},
		{"", "Wget/1.21", true},
		{"", "Mozilla/5.0 (X11)", true},
		{"?pretty=true", "x", true},
		{"?pretty=1", "x", true},
		{"?pretty=0", "curl/8.5.0", false},
	} {
		for _, path := range []string{"", "/a", "/absent"} {
			a := s.get(configMaps+path+test.query, "User-Agent", test.agent)
			lines := strings.Count(a.body, "\n")
			if got := lines > 1; got != test.want || !strings.HasSuffix(a.body, "}\n") {
				t.Errorf("%s%s for %s: %d lines", path, test.query, test.agent, lines)
			}
			var indented strings.Builder
			encoder := json.NewEncoder(&indented)
			encoder.SetIndent("", "  ")
			var raw json.RawMessage
			if err := json.Unmarshal([]byte(a.body), &raw); err != nil {
				t.Fatal(err)
			}
			if err := encoder.Encode(raw); err != nil {
				t.Fatal(err)
			}
			if test.want && a.body != indented.String() {
				t.Errorf("%s%s has another indentation: %s", path, test.query, a.body)
			}
		}
	}
}

// TestIncludeObject checks that a row has the requested part of its object, and that an unknown value is refused before anything is
// written.
func TestIncludeObject(t *testing.T) {
	s := newTestServer(t)
	s.do(http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v"}}`)
	for include, want := range map[string]map[string]string{
		"":                        {"rows.0.object.kind": "PartialObjectMetadata", "rows.0.object.data": "null"},
		"?includeObject=Metadata": {"rows.0.object.kind": "PartialObjectMetadata"},
		"?includeObject=None":     {"rows.0.object": "null", "rows.0.cells.0": "a"},
		"?includeObject=Object":   {"rows.0.object.kind": "ConfigMap", "rows.0.object.data.k": "v"},
	} {
		wantAt(t, s.get(configMaps+include, "Accept", tableV1).decoded(t), want)
		wantAt(t, s.get(configMaps+"/a"+include, "Accept", tableV1).decoded(t), want)
	}
	const bogus = "?includeObject=Bogus"
	const message = `Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": must be 'Metadata', 'Object', 'None', or empty`
	for _, a := range []answer{
		s.get(configMaps+bogus, "Accept", tableV1),
		s.get(configMaps+"?watch=1&includeObject=Bogus", "Accept", tableV1),
		s.do(http.MethodPost, configMaps+bogus, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}}`, "Accept", tableV1),
	} {
		if a.code != http.StatusBadRequest || text(t, a.json(t), "message") != message {
			t.Errorf("%d %s", a.code, a.body)
		}
	}
	if a := s.get(configMaps + "/b"); a.code != http.StatusNotFound {
		t.Errorf("a refused write was done: %s", a.body)
	}
	if a := s.get(configMaps + bogus); a.code != http.StatusOK {
		t.Errorf("includeObject without a Table: %d, want it ignored", a.code)
	}
}

// TestFormsOfWrites checks that the response of a write has the requested form, except for a Status.
func TestFormsOfWrites(t *testing.T) {
	s := newTestServer(t)
	body := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","finalizers":["x.y/z"]}}`
	wantAt(t, s.do(http.MethodPost, configMaps+"?dryRun=All", body, "Accept", tableV1).decoded(t),
		map[string]string{"kind": "Table", "metadata": "{}", "rows.0.cells.0": "a"})
	wantAt(t, s.do(http.MethodPost, configMaps, body, "Accept", metadataV1).decoded(t), map[string]string{"kind": "PartialObjectMetadata", "metadata.name": "a"})
	wantAt(t, s.do(http.MethodPut, configMaps+"/a", body, "Accept", tableV1).decoded(t), map[string]string{"kind": "Table", "rows.0.cells.0": "a"})
	wantAt(t, s.do(http.MethodPatch, configMaps+"/a", `{"data":{"k":"v"}}`, "Content-Type", "application/merge-patch+json", "Accept", "application/yaml").decoded(t),
		map[string]string{"kind": "ConfigMap", "data.k": "v"})
	wantAt(t, s.do(http.MethodDelete, configMaps+"/a", "", "Accept", tableV1).decoded(t), map[string]string{"kind": "Table", "rows.0.cells.0": "a"})
	s.create("b")
	wantAt(t, s.do(http.MethodDelete, configMaps+"/b", "", "Accept", tableV1).decoded(t), map[string]string{"kind": "Status", "status": "Success"})
	s.create("c")
	if a := s.do(http.MethodDelete, configMaps, "", "Accept", metadataV1); a.code != http.StatusNotAcceptable {
		t.Errorf("a list form for an object: %d", a.code)
	}
	if a := s.get(configMaps + "/c"); a.code != http.StatusOK {
		t.Errorf("a refused delete was done: %s", a.body)
	}
	wantAt(t, s.do(http.MethodDelete, configMaps, "", "Accept", tableV1).decoded(t), map[string]string{"kind": "Table", "rows.1.cells.0": "c"})
}

// TestErrorsAreNotTransformed checks that an error is a Status, in JSON or YAML.
func TestErrorsAreNotTransformed(t *testing.T) {
	s := newTestServer(t)
	for accept, contentType := range map[string]string{
		"application/json": "application/json", tableV1: "application/json", metadataV1: "application/json", "text/html": "application/json",
		"application/vnd.kubernetes.protobuf;q=0.5,*/*": "application/json", "application/yaml": "application/yaml",
		"text/html,application/yaml;q=0.5": "application/yaml",
	} {
		a := s.get(configMaps+"/absent", "Accept", accept)
		if a.header.Get("Content-Type") != contentType {
			t.Errorf("%s: %s, want %s", accept, a.header.Get("Content-Type"), contentType)
		}
		wantAt(t, a.decoded(t), map[string]string{"kind": "Status", "apiVersion": "v1", "status": "Failure"})
	}
	if a := s.get(configMaps+"?watch=1", "Accept", "application/yaml"); a.code != http.StatusNotAcceptable {
		t.Errorf("a watch in YAML: %d", a.code)
	}
}

// TestHead checks that HEAD has the same header as GET, without a body.
func TestHead(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	for _, path := range []string{configMaps, configMaps + "/a", configMaps + "/absent", configMaps + "?watch=1"} {
		for _, accept := range []string{"application/json", "application/yaml", tableV1} {
			if strings.Contains(path, "watch") && accept == "application/yaml" {
				continue
			}
			a := s.do(http.MethodHead, path, "", "Accept", accept)
			want := http.StatusOK
			if strings.Contains(path, "absent") {
				want = http.StatusNotFound
			}
			if a.code != want || a.body != "" || !strings.HasPrefix(accept, a.header.Get("Content-Type")) {
				t.Errorf("%s as %s: %d %v %q", path, accept, a.code, a.header, a.body)
			}
		}
	}
}

// watched returns the first events of a watch, each decoded.
func (s *testServer) watched(n int, query string, header ...string) []any {
	s.t.Helper()
	response := rawhttp.Get(s.t, &http.Client{Transport: &http.Transport{DisableCompression: true}}, s.url+configMaps+"?watch=1&"+query, header...)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		s.t.Fatalf("%s %v", response.Status, response.Header)
	}
	events := make([]any, n)
	lines := bufio.NewScanner(response.Body)
	for i := range events {
		if !lines.Scan() {
			s.t.Fatalf("%d events, want %d: %v", i, n, lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &events[i]); err != nil {
			s.t.Fatalf("not a line of JSON: %q", lines.Text())
		}
	}
	return events
}

// TestTableWatch checks that only the first event has the columns, and that a bookmark is a row without a name.
func TestTableWatch(t *testing.T) {
	s := newTestServer(t)
	begin := s.create("a")
	s.create("b")
	last := s.do(http.MethodDelete, configMaps+"/a", "")
	if last.code != http.StatusOK {
		t.Fatal(last.body)
	}
	events := s.watched(2, "resourceVersion="+begin, "Accept", tableV1, "User-Agent", "curl/8")
	wantAt(t, events[0], map[string]string{"type": "ADDED", "object.kind": "Table", "object.apiVersion": "meta.k8s.io/v1",
		"object.columnDefinitions.0.name": "Name", "object.rows.0.cells.0": "b", "object.rows.0.object.metadata.name": "b"})
	wantAt(t, events[1], map[string]string{"type": "DELETED", "object.columnDefinitions": "null", "object.rows.0.cells.0": "a"})
	for _, event := range events {
		if table, row := text(t, event, "object", "metadata", "resourceVersion"), text(t, event, "object", "rows", "0", "object", "metadata", "resourceVersion"); table != row {
			t.Errorf("the Table is of %s, its row of %s", table, row)
		}
	}
	events = s.watched(1, "fieldSelector=metadata.name%3Dnone&allowWatchBookmarks=1", "Accept", tableV1)
	wantAt(t, events[0], map[string]string{"type": "BOOKMARK", "object.kind": "Table", "object.columnDefinitions.0.name": "Name",
		"object.rows.0.cells":                "[\"\",null,null]",
		"object.rows.0.object.kind":          "PartialObjectMetadata",
		"object.rows.0.object.metadata.name": "null",
	})
	if end := text(t, events[0], "object", "rows", "0", "object", "metadata", "annotations", "k8s.io/initial-events-end"); end != "true" {
		t.Errorf("the end of the initial events is not marked: %v", events[0])
	}
}

// TestMetadataWatch checks that events and bookmarks, but not errors, are of kind PartialObjectMetadata.
func TestMetadataWatch(t *testing.T) {
	s := newTestServer(t)
	s.do(http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"l":"x"}},"data":{"k":"v"}}`)
	events := s.watched(2, "allowWatchBookmarks=1", "Accept", metadataV1)
	wantAt(t, events[0], map[string]string{"type": "ADDED", "object.kind": "PartialObjectMetadata", "object.apiVersion": "meta.k8s.io/v1",
		"object.metadata.labels.l": "x", "object.data": "null"})
	wantAt(t, events[1], map[string]string{"type": "BOOKMARK", "object.kind": "PartialObjectMetadata", "object.apiVersion": "meta.k8s.io/v1"})
}

// TestErrorFrameIsAStatus checks that the ERROR frame of a watch of Tables is a Status too.
func TestErrorFrameIsAStatus(t *testing.T) {
	s := newTestServer(t)
	begin := s.create("a")
	s.create("b")
	s.create("c")
	revision, err := s.store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err = s.store.Compact(revision); err != nil {
		t.Fatal(err)
	}
	s = serveStore(t, s.store) // a new gateway, whose log begins later
	for _, accept := range []string{tableV1, metadataV1} {
		event := s.watched(1, "resourceVersion="+begin, "Accept", accept)[0]
		wantAt(t, event, map[string]string{"type": "ERROR", "object.kind": "Status", "object.code": "410", "object.reason": "Expired"})
	}
}
