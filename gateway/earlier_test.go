package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestObjectsOfEarlierReleases checks that objects which are refused today, but were accepted by an earlier release, can be read, listed,
// watched, completed and deleted.
func TestObjectsOfEarlierReleases(t *testing.T) {
	for _, test := range []struct{ name, collection, prefix, object, change, completion string }{
		{"a Deployment without a selector", deployments, "/registry/apps/deployments/default/",
			`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"o","namespace":"default","uid":"u"},"spec":{"replicas":2,"mine":1}}`,
			`{"spec":{"replicas":3}}`, `{"spec":{` + workloadSpec + `}}`},
		{"a Pod without containers", pods, "/registry/pods/default/",
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"o","namespace":"default","uid":"u"},"spec":{}}`,
			`{"spec":{"nodeName":"n"}}`, `{"spec":{` + podSpec + `}}`},
		{"a ConfigMap with an unknown field", configMaps, "/registry/configmaps/default/",
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"o","namespace":"default","uid":"u"},"mine":{"a":1}}`,
			"", `{"data":{"a":"b"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestServer(t)
			if _, err := s.store.Create(t.Context(), test.prefix+"o", []byte(test.object)); err != nil {
				t.Fatal(err)
			}
			url := test.collection + "/o"
			read := s.do("GET", url, "")
			if strings.Contains(test.object, "mine") != strings.Contains(read.body, "mine") || read.code != http.StatusOK {
				t.Errorf("read: %d %s", read.code, read.body)
			}
			if items := s.must(http.StatusOK, "GET", test.collection, "")["items"].([]any); len(items) != 1 {
				t.Errorf("listed: %v", items)
			}
			s.must(http.StatusOK, "GET", test.collection, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
			if test.change != "" {
				s.must(http.StatusUnprocessableEntity, "PATCH", url, test.change, "Content-Type", mergeType)
			}
			if test.collection == pods {
				s.do("PATCH", url+"/ephemeralcontainers", test.completion, "Content-Type", mergeType)
				if spec := s.must(http.StatusOK, "GET", url, "")["spec"].(map[string]any); spec["containers"] != nil {
					t.Errorf("a subresource has completed it: %v", spec)
				}
			}
			completed := s.must(http.StatusOK, "PATCH", url, test.completion, "Content-Type", mergeType)
			if metadata := completed["metadata"].(map[string]any); metadata["uid"] != "u" || completed["mine"] != nil {
				t.Errorf("completed: %v", completed)
			}
			if _, err := s.store.Create(t.Context(), test.prefix+"p", []byte(strings.Replace(test.object, `"o"`, `"p"`, 1))); err != nil {
				t.Fatal(err)
			}
			s.must(http.StatusOK, "DELETE", test.collection+"/p", "")
		})
	}
}
