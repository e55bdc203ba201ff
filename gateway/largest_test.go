package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// numbered returns n texts, joined by commas.
func numbered(n int, format string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(texts, ",")
}

func largeTemplate(containers string) string {
	return `{"kind":"PodTemplate","apiVersion":"v1","metadata":{"name":"o"},"template":{"spec":{"containers":[` + containers + `]}}}`
}

const (
	controllerRevisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
	podTemplates        = "/api/v1/namespaces/default/podtemplates"
)

// revision returns a ControllerRevision, whose data can be anything.
func revision(data string) string {
	return `{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"o"},"data":` + data + `,"revision":1}`
}

// TestLargestObjects checks that clients can read, patch in each way and put back the largest objects that a create accepts.
func TestLargestObjects(t *testing.T) {
	s := newTestServer(t)
	env := func(i int, prefix string) string {
		return fmt.Sprintf(`{"name":"c%d","image":"i","env":[%s]}`, i, numbered(15_000, `{"name":"`+prefix+`%05d","value":""}`))
	}
	tooLargeToApply := map[string]bool{"env": true, "finalizers": true}
	for _, test := range []struct{ name, collection, object, strategic string }{
		{"env", podTemplates, largeTemplate(env(0, "e")), `{"template":{"spec":{"containers":[{"name":"c0","env":[{"name":"e14999","value":"ts"}],"$setElementOrder/env":[{"name":"e14999"},{"name":"e00000"}]}]}}}`},
		{"ports in containers", podTemplates, largeTemplate(numbered(60, `{"name":"c%d","image":"i","ports":[`+numbered(120, `{"containerPort":1%d}`)+`]}`)),
			`{"template":{"spec":{"containers":[{"name":"c7","ports":[{"containerPort":1119,"name":"ts"}]}]}}}`},
		{"finalizers", configMaps, configMap("o", `"finalizers":[`+numbered(16_000, `"example.com/f%d"`)+`]`, ""),
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/f7"],"finalizers":["example.com/ts"]}}`},
		{"labels", configMaps, configMap("o", `"labels":{`+numbered(16_000, `"l%d":"v"`)+`}`, ""), `{"metadata":{"labels":{"l7":null,"ts":"t"}}}`},
		{"data", configMaps, configMap("o", "", `"data":{`+numbered(15_000, `"d%d":"v"`)+`}`), `{"data":{"d7":null,"ts":"t"}}`},
		{"depth", controllerRevisions, revision(`{"deep":` + strings.Repeat(`{"a":`, 56) + `1` + strings.Repeat(`}`, 57)), `{"metadata":{"labels":{"ts":"t"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := test.collection + "/o"
			s.must(http.StatusCreated, "POST", test.collection, test.object)
			s.must(http.StatusOK, "PUT", url, s.do("GET", url, "").body)
			s.must(http.StatusOK, "PATCH", url, `{"metadata":{"annotations":{"a":"merge"}}}`, "Content-Type", mergeType)
			s.must(http.StatusOK, "PATCH", url, `[{"op":"replace","path":"/metadata/annotations/a","value":"json"}]`, "Content-Type", jsonPatchType)
			s.must(http.StatusOK, "PATCH", url, test.strategic, "Content-Type", strategicType)
			var head struct{ Kind, APIVersion string }
			if err := json.Unmarshal([]byte(test.object), &head); err != nil {
				t.Fatal(err)
			}
			applied := http.StatusOK
			if tooLargeToApply[test.name] {
				applied = http.StatusRequestEntityTooLarge
			}
			s.must(applied, "PATCH", url+"?fieldManager=m", `{"kind":"`+head.Kind+`","apiVersion":"`+head.APIVersion+`","metadata":{"name":"o","annotations":{"b":"apply"}}}`,
				"Content-Type", applyType)
			read := s.do("GET", url, "").body
			if !strings.Contains(read, `"a":"json"`) || strings.Contains(read, `"b":"apply"`) == tooLargeToApply[test.name] || !strings.Contains(read, `ts"`) {
				t.Errorf("a patch is missing: %.300s", read)
			}
			s.must(http.StatusOK, "PUT", url, read)
			s.must(http.StatusOK, "PATCH", url, `{"metadata":{"finalizers":null}}`, "Content-Type", mergeType)
			s.must(http.StatusOK, "DELETE", url, "")
		})
	}
}

// TestTooLargeObjects checks that what clients could not send back is refused, by a create as well as by a small patch.
func TestTooLargeObjects(t *testing.T) {
	s := newTestServer(t)
	tokens := func(n int) string {
		return revision(`{"args":[` + strings.TrimSuffix(strings.Repeat(`1,`, n), ",") + `]}`)
	}
	const url, refused = controllerRevisions + "/o", "too large to be sent back"
	if a := s.do("POST", controllerRevisions, tokens(99_950)); a.code != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, refused) {
		t.Errorf("create: %d %.300s", a.code, a.body)
	}
	s.must(http.StatusCreated, "POST", controllerRevisions, tokens(60_000))
	for contentType, body := range map[string]string{
		jsonPatchType: `[{"op":"copy","from":"/data/args","path":"/data/again"}]`,
		mergeType:     `{"data":{"again":[` + strings.TrimSuffix(strings.Repeat(`1,`, 60_000), ",") + `]}}`,
	} {
		if a := s.do("PATCH", url, body, "Content-Type", contentType); a.code != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, refused) {
			t.Errorf("%s: %d %.300s", contentType, a.code, a.body)
		}
	}
	s.must(http.StatusOK, "PUT", url, s.do("GET", url, "").body)
}

// TestWarningsAreBounded checks that an answer has few and short Warning headers, whatever the request has.
func TestWarningsAreBounded(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	made := s.do("POST", widgets, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","`+strings.Repeat("x", 100_000)+`":1,"finalizers":[`+numbered(5000, `"f%d"`)+`]}}`)
	if n := len(made.header.Values("Warning")); made.code != http.StatusCreated || n == 0 || n > 50 || len(made.header.Get("Warning")) > 2000 {
		t.Errorf("%d, %d warnings, the first has %d bytes", made.code, n, len(made.header.Get("Warning")))
	}
}
