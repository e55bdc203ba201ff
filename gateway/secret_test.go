package gateway

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStringData checks that the stringData of a Secret is returned as data, and overrides the data.
func TestStringData(t *testing.T) {
	s := newTestServer(t)
	const secrets = "/api/v1/namespaces/default/secrets"
	for _, test := range []struct {
		name, method, path, body string
		code                     int
		want                     map[string]any
	}{
		{"create", "POST", secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"a":"eA==","b":"eA=="},"stringData":{"b":"new","c":""}}`,
			http.StatusCreated, map[string]any{"a": "eA==", "b": "bmV3", "c": ""}},
		{"patch", "PATCH", secrets + "/s", `{"data":{"c":null},"stringData":{"a":"patched"}}`,
			http.StatusOK, map[string]any{"a": "cGF0Y2hlZA==", "b": "bmV3"}},
		{"update", "PUT", secrets + "/s", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"stringData":{"only":"x"}}`,
			http.StatusOK, map[string]any{"only": "eA=="}},
	} {
		header := []string{"Content-Type", "application/json"}
		if test.method == "PATCH" {
			header[1] = mergeType
		}
		secret := s.must(test.code, test.method, test.path, test.body, header...)
		if diff := cmp.Diff(test.want, secret["data"]); diff != "" || secret["stringData"] != nil {
			t.Errorf("%s: stringData %v, data (-want +got):\n%s", test.name, secret["stringData"], diff)
		}
	}
	before := s.must(http.StatusOK, "GET", secrets+"/s", "")
	after := s.must(http.StatusOK, "PATCH", secrets+"/s", `{"stringData":{"only":"x"}}`, "Content-Type", mergeType)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the same once more (-want +got):\n%s", diff)
	}
}
