package gateway

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFinalize checks that the finalize subresource alone changes the finalizers in the spec of a Namespace, that the Namespace stays until
// others have removed them, and that removing the last one from a terminating Namespace deletes it.
func TestFinalize(t *testing.T) {
	s := newTestServer(t)
	const namespaces, ns = "/api/v1/namespaces", "/api/v1/namespaces/eu"
	put := func(code int, path, finalizers, more string) map[string]any {
		t.Helper()
		return s.must(code, http.MethodPut, path, `{"metadata":{"name":"eu"`+more+`},"spec":{"finalizers":[`+finalizers+`]},"status":{"phase":"x"}}`)
	}
	finalizers := func(namespace map[string]any) any {
		spec, _ := namespace["spec"].(map[string]any)
		return spec["finalizers"]
	}
	s.must(http.StatusCreated, http.MethodPost, namespaces, `{"metadata":{"name":"eu"}}`)

	got := put(http.StatusOK, ns+"/finalize", `"example.com/a","kubernetes"`, `,"labels":{"l":"v"}`)
	if diff := cmp.Diff([]any{"example.com/a", "kubernetes"}, finalizers(got)); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if phase := got["status"].(map[string]any)["phase"]; phase != "Active" {
		t.Errorf("the phase is %v", phase)
	}
	if got = put(http.StatusOK, ns, `"example.com/b"`, ""); !cmp.Equal(finalizers(got), any([]any{"example.com/a", "kubernetes"})) {
		t.Errorf("a write to the Namespace itself has changed the finalizers to %v", finalizers(got))
	}

	checkStatus(t, s.do(http.MethodPut, ns+"/finalize", `{"metadata":{"name":"eu"},"spec":{"finalizers":["bad"]}}`), 422, "Invalid",
		"name is neither a standard finalizer name nor is it fully qualified", "eu Namespace spec.finalizers[0]=FieldValueInvalid")
	checkStatus(t, s.do(http.MethodPut, ns+"/finalize", `{"metadata":{"name":"eu","resourceVersion":"1"}}`), 409, "Conflict", "the object has been modified", "eu namespaces")
	checkStatus(t, s.do(http.MethodPut, namespaces+"/absent/finalize", `{"metadata":{"name":"absent"}}`), 404, "NotFound", `"absent" not found`, "absent namespaces")
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if a := s.do(method, ns+"/finalize", "{}"); a.code != http.StatusMethodNotAllowed || a.header.Get("Allow") != "PUT" {
			t.Errorf("%s: %d, Allow: %s", method, a.code, a.header.Get("Allow"))
		}
	}

	if got = s.must(http.StatusOK, http.MethodDelete, ns, ""); got["kind"] != "Namespace" {
		t.Errorf("deleted with finalizers: %v", got)
	}
	if got = put(http.StatusOK, ns+"/finalize", `"example.com/a"`, ""); got["status"].(map[string]any)["phase"] != "Terminating" {
		t.Errorf("terminating: %v", got)
	}
	put(http.StatusOK, ns+"/finalize", "", "")
	s.must(http.StatusNotFound, http.MethodGet, ns, "")
}

// TestFinalizersOfTheSpec checks that the garbage collector removes a Namespace when only Kubernetes' own finalizer is left.
func TestFinalizersOfTheSpec(t *testing.T) {
	s := newTestServer(t)
	const ns = "/api/v1/namespaces/eu"
	s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"eu"},"spec":{"finalizers":["example.com/a","kubernetes"]}}`)
	s.must(http.StatusCreated, http.MethodPost, ns+"/configmaps", `{"metadata":{"name":"c"}}`)
	s.must(http.StatusOK, http.MethodDelete, ns, "")
	await(t, "an empty namespace", func() bool { return s.get(ns+"/configmaps/c").code == http.StatusNotFound })
	s.must(http.StatusOK, http.MethodGet, ns, "")
	s.must(http.StatusOK, http.MethodPut, ns+"/finalize", `{"metadata":{"name":"eu"},"spec":{"finalizers":["kubernetes"]}}`)
	await(t, "a removed namespace", func() bool { return s.get(ns).code == http.StatusNotFound })
}
