package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestComponentStatuses checks that the health of components is read, selected and shown in each representation, and cannot be written or
// watched.
func TestComponentStatuses(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const path, healthy = "/api/v1/componentstatuses", `"conditions":[{"type":"Healthy","status":"True","message":"ok"}]`
	for _, test := range []struct {
		path, accept string
		want         []string // parts of the answer
	}{
		{path, "", []string{`"kind":"ComponentStatusList","apiVersion":"v1","metadata":{},"items":[`, `"name":"controller-manager"`, `"name":"etcd-0"`, `"name":"scheduler"`, healthy}},
		{path + "/etcd-0", "", []string{`"kind":"ComponentStatus"`, `"name":"etcd-0"`, healthy}},
		{path + "?fieldSelector=metadata.name%3Detcd-0", "application/json;as=Table;v=v1;g=meta.k8s.io", []string{`"cells":["etcd-0","Healthy","ok",""]`}},
		{path + "?fieldSelector=metadata.name%3Dother", "", []string{`"items":[]`}},
		{path + "?labelSelector=a", "", []string{`"items":[]`}},
		{path, "application/vnd.kubernetes.protobuf", []string{"k8s\x00", "etcd-0", "scheduler"}},
		{path + "/etcd-0", "application/vnd.kubernetes.protobuf", []string{"k8s\x00", "etcd-0"}},
	} {
		a := s.get(test.path, "Accept", test.accept)
		for _, part := range test.want {
			if a.code != http.StatusOK || !strings.Contains(a.body, part) {
				t.Errorf("%s as %q: %d, without %q: %q", test.path, test.accept, a.code, part, a.body)
			}
		}
		if want := `299 - "v1 ComponentStatus is deprecated in v1.19+"`; a.header.Get("Warning") != want {
			t.Errorf("%s: the warning is %q", test.path, a.header.Get("Warning"))
		}
	}
	if a := s.get(path + "/etcd-1"); a.code != http.StatusNotFound || !strings.Contains(a.body, `componentstatus \"etcd-1\" not found`) {
		t.Errorf("an absent one: %d %s", a.code, a.body)
	}
	for _, request := range []string{"POST " + path, "DELETE " + path, "PUT " + path + "/etcd-0", "PATCH " + path + "/etcd-0", "DELETE " + path + "/etcd-0", "GET " + path + "?watch=1"} {
		method, of, _ := strings.Cut(request, " ")
		if a := s.do(method, of, "{}"); a.code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", request, a.code, a.body)
		}
	}
	if a := s.get(path + "?filter=true"); a.code != http.StatusBadRequest {
		t.Errorf("a filter: %d %s", a.code, a.body)
	}
}
