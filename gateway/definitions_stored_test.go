package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gearsDefinition has two versions with different fields and defaults. v1 is stored.
const gearsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gears, kind: Gear}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      both: {type: string, default: one}, old: {type: integer, default: 1}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      both: {type: string, default: two}, new: {type: string, default: fresh}}}}}}
`

// TestVersionsOfStoredObjects checks that an object in another version than the stored one has, as in kube-apiserver, the fields and the
// defaults of the stored version, less the fields that its version lacks: in answers, reads, lists and watches.
func TestVersionsOfStoredObjects(t *testing.T) {
	s := newTestServer(t)
	s.define(gearsDefinition)
	const v1, v2 = "/apis/example.com/v1/namespaces/default/gears", "/apis/example.com/v2/namespaces/default/gears"
	gear := func(version, name, spec string) string {
		return `{"apiVersion":"example.com/` + version + `","kind":"Gear","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	for _, test := range []struct {
		name, path, body       string
		stored, first, another map[string]any // in the store, in v1 and in v2
	}{
		{"a", v1, gear("v1", "a", `{}`), map[string]any{"both": "one", "old": 1.}, map[string]any{"both": "one", "old": 1.}, map[string]any{"both": "one"}},
		{"b", v2, gear("v2", "b", `{}`), map[string]any{"both": "two"}, map[string]any{"both": "two", "old": 1.}, map[string]any{"both": "two"}},
		{"c", v2, gear("v2", "c", `{"new":"mine","both":"x"}`), map[string]any{"both": "x"}, map[string]any{"both": "x", "old": 1.}, map[string]any{"both": "x"}},
	} {
		for _, query := range []string{"?dryRun=All", ""} {
			got := s.must(http.StatusCreated, http.MethodPost, test.path+query, test.body)
			want := test.first
			if test.path == v2 {
				want = test.another
			}
			if diff := cmp.Diff(any(want), got["spec"]); diff != "" {
				t.Errorf("%s%s: created (-want +got):\n%s", test.name, query, diff)
			}
		}
		for path, want := range map[string]map[string]any{v1: test.first, v2: test.another} {
			if diff := cmp.Diff(any(want), s.must(http.StatusOK, http.MethodGet, path+"/"+test.name, "")["spec"]); diff != "" {
				t.Errorf("%s at %s (-want +got):\n%s", test.name, path, diff)
			}
			list := s.must(http.StatusOK, http.MethodGet, path+"?fieldSelector=metadata.name%3D"+test.name, "")
			if diff := cmp.Diff(any(want), list["items"].([]any)[0].(map[string]any)["spec"]); diff != "" {
				t.Errorf("%s in the list of %s (-want +got):\n%s", test.name, path, diff)
			}
		}
		value, _, err := s.store.Get(t.Context(), "/registry/example.com/gears/default/"+test.name)
		if err != nil {
			t.Fatal(err)
		}
		stored := answer{body: string(value.Value)}.json(t)
		if diff := cmp.Diff(any(test.stored), stored["spec"]); diff != "" || stored["apiVersion"] != "example.com/v1" {
			t.Errorf("%s stored as %v (-want +got):\n%s", test.name, stored["apiVersion"], diff)
		}
	}
	s.must(http.StatusOK, http.MethodPatch, v2+"/a", `{"spec":{"both":"changed"}}`, "Content-Type", "application/merge-patch+json")
	watched := s.get(v2 + "?watch=1&resourceVersion=0&timeoutSeconds=1").body
	if strings.Contains(watched, `"old"`) || strings.Contains(watched, "fresh") || !strings.Contains(watched, `"both":"changed"`) {
		t.Errorf("watched in v2: %s", watched)
	}
}
