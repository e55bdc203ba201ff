package gateway

import (
	"fmt"
	"net/http"
	"testing"

	"revtail/etcdstore"
)

const jsonBody = "application/json"

// TestRefusedDeletes checks that a refused delete deletes nothing.
func TestRefusedDeletes(t *testing.T) {
	s := newTestServer(t)
	version := s.create("a")
	const a = configMaps + "/a"
	for _, test := range []struct {
		name, path, body string
		code             int
		reason, message  string
		details          string
	}{
		{"absent", configMaps + "/x", "", 404, "NotFound", `configmaps "x" not found`, "x configmaps"},
		{"malformed", a, "{bad", 400, "BadRequest", "DeleteOptions", ""},
		{"of another kind", a, `{"kind":"Foo","apiVersion":"v1"}`, 400, "BadRequest", "Foo", ""},
		{"another uid", a, `{"preconditions":{"uid":"zzz"}}`, 409, "Conflict", `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (zzz) does not match the UID in record`, "a ConfigMap"},
		{"another resourceVersion", a, `{"preconditions":{"resourceVersion":"1"}}`, 409, "Conflict",
			fmt.Sprintf("the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (%s)", version), "a ConfigMap"},
		{"bad policy", a + "?propagationPolicy=Nope", "", 422, "Invalid", `supported values: "Foreground", "Background", "Orphan", "nil"`,
			" meta.k8s.io DeleteOptions propagationPolicy=FieldValueNotSupported"},
		{"two policies", a + "?propagationPolicy=Orphan&orphanDependents=true", "", 422, "Invalid", "cannot be both set",
			" meta.k8s.io DeleteOptions propagationPolicy=FieldValueInvalid"},
		{"bad dryRun", a + "?dryRun=Some", "", 422, "Invalid", "dryRun", " meta.k8s.io DeleteOptions dryRun=FieldValueNotSupported"},
		{"bad grace period", a + "?gracePeriodSeconds=x", "", 400, "BadRequest", "invalid syntax", ""},
		{"bad selector", configMaps + "?labelSelector=l%20in", "", 400, "BadRequest", "unable to parse requirement", ""},
		{"collection with a precondition", configMaps, `{"preconditions":{"uid":"zzz"}}`, 409, "Conflict", "the UID in the precondition", "a ConfigMap"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStatus(t, s.do("DELETE", test.path, test.body, "Content-Type", jsonBody), test.code, test.reason, test.message, test.details)
		})
	}
	s.must(http.StatusOK, "GET", a, "")
}

// TestDelete checks that the response has the deleted object.
func TestDelete(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	uid := s.must(http.StatusOK, "GET", configMaps+"/a", "")["metadata"].(map[string]any)["uid"]
	status := s.must(http.StatusOK, "DELETE", configMaps+"/a", `{"preconditions":{"uid":"`+uid.(string)+`"}}`, "Content-Type", jsonBody)
	details := status["details"].(map[string]any)
	if status["status"] != "Success" || details["name"] != "a" || details["kind"] != "configmaps" || details["uid"] != uid {
		t.Errorf("answer: %v", status)
	}
	s.must(http.StatusNotFound, "GET", configMaps+"/a", "")
}

// TestFinalizersKeepAnObject checks that an object is deleted with its last finalizer.
func TestFinalizersKeepAnObject(t *testing.T) {
	s := newTestServer(t)
	const f = configMaps + "/f"
	s.must(http.StatusCreated, "POST", configMaps, configMap("f", `"finalizers":["example.com/x"]`, ""))
	kept := s.must(http.StatusOK, "DELETE", f, "")["metadata"].(map[string]any)
	if kept["deletionTimestamp"] == nil || kept["deletionGracePeriodSeconds"] != 0.0 || kept["generation"] != nil {
		t.Errorf("kept: %v", kept)
	}
	again := s.must(http.StatusAccepted, "DELETE", f+"?orphanDependents=false", "")["metadata"].(map[string]any)
	if again["resourceVersion"] != kept["resourceVersion"] {
		t.Errorf("deleted again: %v", again)
	}
	s.must(http.StatusOK, "PATCH", f, `{"metadata":{"deletionTimestamp":null,"labels":{"a":"b"}}}`, "Content-Type", mergeType)
	if still := s.must(http.StatusOK, "GET", f, "")["metadata"].(map[string]any); still["deletionTimestamp"] == nil {
		t.Errorf("deletionTimestamp removed: %v", still)
	}
	s.must(http.StatusOK, "PATCH", f, `{"metadata":{"finalizers":null}}`, "Content-Type", mergeType)
	s.must(http.StatusNotFound, "GET", f, "")
}

// TestDeleteCollectionDeletesWhatAListShows checks that a deletion of a collection and a list select the same objects.
func TestDeleteCollectionDeletesWhatAListShows(t *testing.T) {
	s := newTestServer(t)
	for _, name := range []string{"a", "b", "c"} {
		s.must(http.StatusCreated, "POST", configMaps, configMap(name, `"labels":{"l":"x"}`, ""))
	}
	s.create("other")
	for _, step := range []struct {
		query         string
		deleted, left int
	}{
		{"?labelSelector=l=x&dryRun=All", 3, 4},
		{"?labelSelector=l=x&limit=1", 1, 3},
		{"?fieldSelector=metadata.name=b", 1, 2},
		{"?labelSelector=l=x", 1, 1},
		{"", 1, 0},
	} {
		list := s.must(http.StatusOK, "DELETE", configMaps+step.query, "")
		left := s.must(http.StatusOK, "GET", configMaps, "")
		if got := len(list["items"].([]any)); list["kind"] != "ConfigMapList" || got != step.deleted || len(left["items"].([]any)) != step.left {
			t.Errorf("%q: %d deleted, %v left", step.query, got, left["items"])
		}
	}
}

// TestDeleteCollectionThatFails checks that the error says how many objects were deleted.
func TestDeleteCollectionThatFails(t *testing.T) {
	s, store := newRecordedServer(t, "/registry/configmaps/")
	s.create("a")
	s.must(http.StatusCreated, "POST", configMaps, configMap("b", `"finalizers":["example.com/x"]`, ""))
	s.create("c")
	s.catchUp(configMaps)
	store.mu.Lock()
	store.failing = etcdstore.ErrUnavailable
	store.mu.Unlock()
	failed := s.do("DELETE", configMaps, "")
	if failed.code != http.StatusServiceUnavailable || failed.header.Get("Warning") != `299 - "objects deleted before the request failed: 1"` {
		t.Errorf("%d %v %s", failed.code, failed.header, failed.body)
	}
	s.must(http.StatusNotFound, "GET", configMaps+"/a", "")
	s.must(http.StatusOK, "GET", configMaps+"/c", "")
}

// TestDeleteReturnsTheObject checks the answers for kinds whose deleted objects a cluster returns, and for others.
func TestDeleteReturnsTheObject(t *testing.T) {
	s := newTestServer(t)
	created := s.must(http.StatusCreated, http.MethodPost, services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`)
	for _, query := range []string{"?dryRun=All", ""} {
		deleted := s.must(http.StatusOK, http.MethodDelete, services+"/a"+query, "")
		metadata, before := deleted["metadata"].(map[string]any), created["metadata"].(map[string]any)
		if deleted["kind"] != "Service" || metadata["uid"] != before["uid"] || (metadata["resourceVersion"] == before["resourceVersion"]) != (query != "") {
			t.Errorf("DELETE %s: %v", query, deleted)
		}
	}
	s.create("b")
	if deleted := s.must(http.StatusOK, http.MethodDelete, configMaps+"/b", ""); deleted["kind"] != "Status" {
		t.Errorf("DELETE of a ConfigMap: %v", deleted)
	}
}
