package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// putConfig writes a ConfigMap with one datum and returns its revision.
func (s *testServer) putConfig(name, datum string) string {
	s.t.Helper()
	document := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","labels":{"l":%q}},"data":{"n":%q,"other":"x"}}`, name, name, datum)
	return fmt.Sprint(s.store.Txn(map[string][]byte{"/registry/configmaps/default/" + name: []byte(document)}, nil))
}

// projected returns the object with fields=data.n, at a revision.
func projected(name, datum, revision string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":%q,"name":%q,"namespace":"default"},"data":{"n":%q}}`, revision, name, datum)
}

func event(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

func query(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return "?" + values.Encode()
}

func TestFilterAndFieldsOfLists(t *testing.T) {
	s := newTestServer(t)
	revisions := map[string]string{}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		revisions[name] = s.putConfig(name, fmt.Sprint(i))
	}
	odd := `int(object.data.n) % 2 == 1`
	first := s.get(configMaps + query("filter", odd, "fields", "data.n", "limit", "1"))
	list := first.json(t)
	token, _ := list["metadata"].(map[string]any)["continue"].(string)
	if !strings.Contains(first.body, `"items":[`+projected("b", "1", revisions["b"])+`]`) || token == "" || strings.Contains(first.body, "remainingItemCount") {
		t.Errorf("the first page: %s", first.body)
	}
	second := s.get(configMaps + query("filter", odd, "fields", ".data['n']", "limit", "1", "continue", token))
	if !strings.Contains(second.body, `"items":[`+projected("d", "3", revisions["d"])+`]`) || !strings.Contains(second.body, `"continue":""`) {
		t.Errorf("the second page: %s", second.body)
	}
	for _, test := range []struct{ query, names string }{
		{query("filter", odd, "labelSelector", "l=b"), "b"},
		{query("filter", odd, "fieldSelector", "metadata.name=c"), ""},
		{query("filter", `key.endsWith("/default/e")`), "e"},
		{query("filter", `type == "ADDED" && old == null && object.data.n < "2"`), "a b"},
		{query("filter", `old.data.n == object.data.n`), ""},
		{query("filter", `!has(object.data.missing) && object.data.n == "0"`), "a"},
		{query("filter", `object.data.missing == "1"`), ""},
		{query("filter", ""), "a b c d e"},
	} {
		a := s.get(configMaps + test.query)
		items, _ := a.json(t)["items"].([]any)
		var names []string
		for _, item := range items {
			names = append(names, item.(map[string]any)["metadata"].(map[string]any)["name"].(string))
		}
		if got := strings.Join(names, " "); got != test.names || a.code != 200 {
			t.Errorf("%s: %d %q, want %q", test.query, a.code, got, test.names)
		}
	}
	one := s.get(configMaps + "/b" + query("fields", "data.n"))
	if strings.TrimSpace(one.body) != projected("b", "1", revisions["b"]) {
		t.Errorf("one: %s", one.body)
	}
	if a := s.get(configMaps+"/b"+query("fields", "data.n"), "Accept", "application/yaml"); !strings.Contains(a.body, "data:\n  \"n\": \"1\"\n") || strings.Contains(a.body, "other") {
		t.Errorf("YAML: %s", a.body)
	}
	table := s.get(configMaps+query("filter", odd), "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if rows, _ := table.json(t)["rows"].([]any); len(rows) != 2 {
		t.Errorf("a Table of two: %s", table.body)
	}
	// A deletion of a collection leaves the objects that the filter does not match.
	if a := s.do(http.MethodDelete, configMaps+query("filter", odd, "fields", "data.n"), ""); a.code != 200 || strings.Count(a.body, `"data":{"n"`) != 2 {
		t.Errorf("delete: %d %s", a.code, a.body)
	}
	if a := s.get(configMaps); strings.Count(a.body, `"name":`) != 3 {
		t.Errorf("after the deletion: %s", a.body)
	}
}

func TestFilterAndFieldsOfWatches(t *testing.T) {
	s := newTestServer(t)
	one := s.putConfig("a", "1")
	two := s.putConfig("a", "2")
	entered := query("watch", "1", "filter", `object.data.n == "2"`, "fields", "data.n", "timeoutSeconds", "30")
	resumed := s.follow(configMaps + entered + "&resourceVersion=" + one)
	begun := s.follow(configMaps + entered + "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	stream := s.follow(configMaps+entered+"&resourceVersion="+one, "Accept", "text/event-stream")
	changes := s.follow(configMaps + query("watch", "1", "filter", `type == "MODIFIED" && object.data.n != old.data.n`, "fields", "data.n", "resourceVersion", two))
	three := s.putConfig("a", "3")
	again := s.putConfig("a", "3")
	four := s.putConfig("a", "2")
	want := []string{event("ADDED", projected("a", "2", two)), event("DELETED", projected("a", "2", three)), event("ADDED", projected("a", "2", four))}
	resumed.want(want...)
	begun.want(want[0])
	if line, err := begun.reader.ReadString('\n'); err != nil || !strings.Contains(line, `"k8s.io/initial-events-end":"true"`) {
		t.Errorf("%s, %v, want the end of the state", line, err)
	}
	begun.want(want[1:]...)
	if line, err := stream.reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry: ") {
		t.Errorf("%s, %v", line, err)
	}
	stream.want("", "id: "+two, "data: "+want[0], "", "id: "+three, "data: "+want[1], "")
	changes.want(event("MODIFIED", projected("a", "3", three)), event("MODIFIED", projected("a", "2", four)))
	if again == three {
		t.Fatal("a revision was sent twice")
	}
}

func TestFilterAndFieldsOfKeys(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a", `{"n":1,"x":{"y":2}}`, "/app/b", `{"n":5,"x":{"y":3}}`, "/app/c", "text", "/app/d/e", `{"n":7}`)
	watched := s.follow("/v1/keys/app/" + query("watch", "", "filter", "value.n > 2", "fields", "x.y", "prev", "1"))
	watched.want(
		fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown("/app/b", `{"x":{"y":3}}`, first)),
		fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown("/app/d/e", `{}`, first)),
		fmt.Sprintf(`{"type":"SYNC","revision":%d}`, first))
	changed := s.putKeys("/app/a", `{"n":3}`, "/app/b", `{"n":2}`, "/app/c", `text`)
	watched.want(
		fmt.Sprintf(`{"type":"PUT","revision":%d,"key":"/app/a","value":{},"encoding":"json","createRevision":%d,"modRevision":%d,"version":2,"prev":{%s}}`, changed, first, changed, shown("/app/a", `{"x":{"y":2}}`, first)),
		fmt.Sprintf(`{"type":"DELETE","revision":%d,"last":true,"key":"/app/b","prev":{%s}}`, changed, shown("/app/b", `{"x":{"y":3}}`, first)))
	for _, test := range []struct{ path, want string }{
		{query("filter", `value.n > 2`, "keysOnly", ""), `/app/a /app/d/e`},
		{query("filter", `value == "text"`), `/app/c`},
		{query("filter", `key.startsWith("/app/b") || type == "DELETE"`), `/app/b`},
		{query("filter", `value.n > 2`, "depth", "1", "limit", "1"), `/app/a more`},
		{query("filter", `value.n > 5`, "depth", "1", "limit", "1"), `/app/d/`},
		{query("filter", `value.n < 3`, "limit", "1"), `/app/b`},
	} {
		a := s.get("/v1/keys/app/" + test.path).json(t)
		var keys []string
		for _, item := range a["items"].([]any) {
			keys = append(keys, item.(map[string]any)["key"].(string))
		}
		if a["continue"] != nil {
			keys = append(keys, "more")
		}
		if got := strings.Join(keys, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
	s.wantKeys("/v1/keys/app/"+query("filter", `value.n >= 2`, "count", ""), 200, fmt.Sprintf(`{"revision":%d,"count":3}`, changed))
	s.wantKeys("/v1/keys/app/"+query("count", ""), 200, fmt.Sprintf(`{"revision":%d,"count":4}`, changed))
	s.wantKeys("/v1/keys/app/d/e"+query("fields", "n,zz"), 200, fmt.Sprintf(`{"revision":%d,"items":[{%s}]}`, changed, shown("/app/d/e", `{"n":7}`, first)))
	s.wantKeys("/v1/keys/app/c"+query("fields", "n"), 200, "") // a string has no such path
	polled := s.get("/v1/keys/app/" + query("since", fmt.Sprint(first), "wait", "5s", "filter", "value.n > 2", "fields", "n")).json(t)
	if events := polled["events"].([]any); len(events) != 4 || events[2].(map[string]any)["type"] != "PUT" || events[3].(map[string]any)["type"] != "DELETE" {
		// two events of the revision at which it resumes, because more than one key changed in it
		t.Errorf("a long poll: %v", polled)
	}
}

// TestExpressionsRefused checks that the error names the position, in the words of the API, and that nothing was done.
func TestExpressionsRefused(t *testing.T) {
	s := newTestServer(t)
	s.putConfig("a", "1")
	s.putKeys("/app/a", "1")
	asTable := "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, test := range []struct{ method, path, accept, says string }{
		{"GET", configMaps + query("filter", "object.data."), "", `filter: line 1, column 13: Syntax error`},
		{"GET", configMaps + query("filter", "object.data."), "", ` | object.data.\n | ............^`},
		{"GET", configMaps + query("watch", "1", "filter", "value.n == 1"), "", `undeclared reference to 'value': there are object, old, key, type and text`},
		{"GET", configMaps + query("filter", "true", "filter", "false"), "", `filter is given 2 times`},
		{"GET", configMaps + query("filter", strings.Repeat("a", 5000)), "", `4096 are the limit`},
		{"GET", configMaps + "/a" + query("filter", "true"), "", `filter is for lists and watches`},
		{"DELETE", configMaps + query("filter", "tru"), "", `undeclared reference to 'tru'`},
		{"DELETE", configMaps + "/a" + query("filter", "false"), "", `filter is for lists and watches`},
		{"DELETE", configMaps + "/a" + query("fields", "["), "", `fields: column 2: want`},
		{"GET", configMaps + query("fields", "data..n"), "", `fields: column 6: want a name`},
		{"GET", configMaps + "/a" + query("fields", "data", "fields", "]"), "", `fields: column 6: want a name`},
		{"GET", configMaps + query("fields", "data"), asTable, `Accept asks for a Table`},
		{"GET", "/v1/keys/app/" + query("filter", "value ="), "", `filter: line 1, column 7: Syntax error`},
		{"GET", "/v1/keys/app/" + query("watch", "", "filter", "object.n == 1"), "", `there are value, old, key, type and text`},
		{"GET", "/v1/keys/app/" + query("since", "1", "wait", "1s", "fields", "a["), "", `fields: column 3`},
		{"GET", "/v1/keys/app/a" + query("filter", "true"), "", `filter is for a watch, or for a prefix`},
		{"GET", "/v1/keys/app/" + query("fields", "a", "count", ""), "", `fields is about values`},
		{"PUT", "/v1/keys/app/a" + query("filter", "true"), "", `has no parameter \"filter\"`},
		{"DELETE", "/v1/keys/app/" + query("prefix", "true", "filter", "true"), "", `has no parameter \"filter\"`},
	} {
		a := s.do(test.method, test.path, "", "Accept", test.accept)
		kind := "application/json"
		if strings.HasPrefix(test.path, "/v1/") {
			kind = "application/problem+json"
		}
		if a.code != 400 || !strings.Contains(a.body, test.says) || a.header.Get("Content-Type") != kind {
			t.Errorf("%s %s: %d %s %s\nwant 400 %s", test.method, test.path, a.code, a.header.Get("Content-Type"), a.body, test.says)
		}
	}
	if a := s.get(configMaps + "/a"); a.code != 200 {
		t.Errorf("the object was deleted: %d", a.code)
	}
}

// TestFilterThatCostsTooMuch checks that a list is refused, and that a watch ends with an error, so that no object is left out.
func TestFilterThatCostsTooMuch(t *testing.T) {
	s := newTestServer(t)
	revision := s.putConfig("a", strings.Repeat("a", 1<<20))
	s.putKeys("/app/a", strings.Repeat("a", 1<<20))
	expensive := `object.data.n.matches("^(a?){900}b*$")`
	if a := s.get(configMaps + query("filter", expensive)); a.code != 400 || !strings.Contains(a.body, `for the key \"/registry/configmaps/default/a\" it takes more work`) {
		t.Errorf("a list: %d %.300s", a.code, a.body)
	}
	if a := s.get("/v1/keys/app/" + query("filter", strings.Replace(expensive, "object.data.n", "value", 1))); a.code != 400 || !strings.Contains(a.body, `for the key \"/app/a\" it takes more work`) {
		t.Errorf("keys: %d %.300s", a.code, a.body)
	}
	watch := s.follow(configMaps + query("watch", "1", "resourceVersion", revision, "filter", expensive))
	s.putConfig("a", strings.Repeat("a", 1<<20))
	line, err := watch.reader.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"type":"ERROR","object":{"kind":"Status"`) || !strings.Contains(line, `"code":400`) {
		t.Errorf("a watch: %.300s %v", line, err)
	}
	if line, err = watch.reader.ReadString('\n'); err == nil {
		t.Errorf("after the error: %s", line)
	}
}

// TestFiltersAreCompiledOnce opens two watches and a list with the same filter, and one watch with another.
func TestFiltersAreCompiledOnce(t *testing.T) {
	s := newTestServer(t)
	same := query("watch", "1", "filter", `object.data.n == "1"`, "resourceVersion", s.putConfig("a", "0"))
	for range 2 {
		s.follow(configMaps + same)
	}
	s.get(configMaps + query("filter", `object.data.n == "1"`))
	s.get(configMaps + query("filter", `object.data.n == "2"`))
	if a := s.get("/metrics"); !strings.Contains(a.body, `revtail_filters_compiled_total{of="objects"} 2`) {
		t.Error("/metrics has another number")
	}
}
