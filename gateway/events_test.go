package gateway

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"revtail/etcdstore/memory"
)

const (
	coreEvents  = "/api/v1/namespaces/default/events"
	groupEvents = "/apis/events.k8s.io/v1/namespaces/default/events"
	coreEvent   = `{"kind":"Event","apiVersion":"v1","metadata":{"name":"web.1","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"},
		"message":"assigned","reason":"Scheduled","type":"Normal","source":{"component":"scheduler"},"count":2}`
	groupEvent = `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"web.2","namespace":"default"},"eventTime":"2026-01-01T00:00:00.000000Z",
		"regarding":{"kind":"Pod","name":"web","namespace":"default"},"note":"assigned","reason":"Scheduled","type":"Normal","action":"Binding",
		"reportingController":"example.com/scheduler","reportingInstance":"scheduler-1"}`
)

// TestEventsOfBothGroups checks that both groups serve the same events, each with its own fields and with the same resourceVersion.
func TestEventsOfBothGroups(t *testing.T) {
	s := newTestServer(t)
	created := s.must(http.StatusCreated, "POST", coreEvents, coreEvent)
	s.must(http.StatusCreated, "POST", groupEvents, groupEvent)

	read := s.must(http.StatusOK, "GET", groupEvents+"/web.1", "")
	source, _ := read["deprecatedSource"].(map[string]any)
	regarding, _ := read["regarding"].(map[string]any)
	if read["apiVersion"] != "events.k8s.io/v1" || read["note"] != "assigned" || source["component"] != "scheduler" || regarding["name"] != "web" ||
		read["deprecatedCount"] != float64(2) || read["message"] != nil || versionOf(read) != versionOf(created) {
		t.Errorf("an event of the core group is read as %v", read)
	}
	read = s.must(http.StatusOK, "GET", coreEvents+"/web.2", "")
	involved, _ := read["involvedObject"].(map[string]any)
	if read["apiVersion"] != "v1" || read["message"] != "assigned" || read["reportingComponent"] != "example.com/scheduler" || involved["name"] != "web" || read["note"] != nil {
		t.Errorf("an event of events.k8s.io is read as %v", read)
	}
	for _, path := range []string{
		coreEvents, groupEvents, coreEvents + "?fieldSelector=involvedObject.name=web", groupEvents + "?fieldSelector=regarding.name=web",
		"/api/v1/events", "/apis/events.k8s.io/v1/events",
	} {
		if items := s.must(http.StatusOK, "GET", path, "")["items"].([]any); len(items) != 2 {
			t.Errorf("GET %s: %v", path, items)
		}
	}
	for path, name := range map[string]string{
		coreEvents + "?fieldSelector=source=scheduler": "web.1", groupEvents + "?fieldSelector=reportingController=example.com/scheduler": "web.2",
	} {
		items := s.must(http.StatusOK, "GET", path, "")["items"].([]any)
		if len(items) != 1 || items[0].(map[string]any)["metadata"].(map[string]any)["name"] != name {
			t.Errorf("GET %s: %v", path, items)
		}
	}
	if a := s.get(groupEvents + "?fieldSelector=involvedObject.name=web"); a.code != http.StatusBadRequest {
		t.Errorf("a field of the core group is selected in events.k8s.io: %d", a.code)
	}
	table := s.must(http.StatusOK, "GET", groupEvents, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if rows := table["rows"].([]any); len(rows) != 2 {
		t.Errorf("the table has %v", rows)
	}
}

// TestWritesToEventsOfBothGroups checks that a write through one group is that of the stored object: an update, a patch, an applied
// configuration and a deletion.
func TestWritesToEventsOfBothGroups(t *testing.T) {
	s := newTestServer(t)
	s.must(http.StatusCreated, "POST", coreEvents, coreEvent)
	stored, _, err := s.store.Get(t.Context(), "/registry/events/default/web.1")
	if err != nil || !strings.Contains(string(stored.Value), `"involvedObject"`) {
		t.Fatalf("stored as %s: %v", stored.Value, err)
	}
	before := s.must(http.StatusOK, "GET", groupEvents+"/web.1", "")
	before["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"}
	body, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	s.must(http.StatusOK, "PUT", groupEvents+"/web.1", string(body))
	s.must(http.StatusOK, "PATCH", groupEvents+"/web.1", `{"metadata":{"labels":{"c":"d"}}}`, "Content-Type", mergeType)
	s.must(http.StatusOK, "PATCH", groupEvents+"/web.1?fieldManager=f", `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"web.1","labels":{"e":"f"}}}`,
		"Content-Type", "application/apply-patch+yaml")
	after := s.must(http.StatusOK, "GET", coreEvents+"/web.1", "")
	labels, _ := after["metadata"].(map[string]any)["labels"].(map[string]any)
	if len(labels) != 3 || after["message"] != "assigned" || after["count"] != float64(2) {
		t.Errorf("after the writes: %v", after)
	}
	if a := s.do("PUT", groupEvents+"/web.1", string(body)); a.code != http.StatusConflict {
		t.Errorf("an update of an old state: %d %s", a.code, a.body)
	}
	if a := s.do("PATCH", groupEvents+"/web.1", `{"note":"other"}`, "Content-Type", mergeType); a.code != http.StatusUnprocessableEntity {
		t.Errorf("a change of the note: %d %s, as in a cluster it is immutable", a.code, a.body)
	}
	s.must(http.StatusOK, "DELETE", groupEvents+"/web.1", "")
	if a := s.get(coreEvents + "/web.1"); a.code != http.StatusNotFound {
		t.Errorf("after the deletion: %d", a.code)
	}
}

// TestWatchesOfEventsOfBothGroups checks that watches of both groups get the same changes at the same revisions.
func TestWatchesOfEventsOfBothGroups(t *testing.T) {
	s := newTestServer(t)
	core, group := s.lines(coreEvents+"?watch=true&resourceVersion=1"), s.lines(groupEvents+"?watch=true&resourceVersion=1")
	s.must(http.StatusCreated, "POST", groupEvents, groupEvent)
	s.must(http.StatusOK, "PATCH", coreEvents+"/web.2", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", mergeType)
	s.must(http.StatusOK, "DELETE", coreEvents+"/web.2", "")
	for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
		c, g := core(), group()
		co, gr := c["object"].(map[string]any), g["object"].(map[string]any)
		if c["type"] != want || g["type"] != want || versionOf(co) != versionOf(gr) || co["message"] != "assigned" || gr["note"] != "assigned" {
			t.Errorf("%s: the core group has %v, events.k8s.io %v", want, c, g)
		}
	}
}

// TestEventsOfEarlierReleases checks that events which an earlier release stored under the keys of events.k8s.io are moved and served.
func TestEventsOfEarlierReleases(t *testing.T) {
	store := memory.New()
	for key, value := range map[string]string{
		"/registry/events.k8s.io/events/default/web.2":   groupEvent,
		"/registry/events.k8s.io/events/default/taken":   strings.ReplaceAll(groupEvent, "web.2", "taken"),
		"/registry/events.k8s.io/events/default/nothing": `{"no":`,
		"/registry/events/default/taken":                 strings.ReplaceAll(coreEvent, "web.1", "taken"),
	} {
		if _, err := store.Create(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	s := serveStore(t, store)
	await(t, "the event to be moved", func() bool { return s.get(coreEvents+"/web.2").code == http.StatusOK })
	if read := s.must(http.StatusOK, "GET", groupEvents+"/web.2", ""); read["note"] != "assigned" || read["reportingController"] != "example.com/scheduler" {
		t.Errorf("the event is %v", read)
	}
	if _, _, err := store.Get(t.Context(), "/registry/events.k8s.io/events/default/web.2"); err == nil {
		t.Error("the event is still under its former key")
	}
	for _, name := range []string{"taken", "nothing"} {
		if _, _, err := store.Get(t.Context(), "/registry/events.k8s.io/events/default/"+name); err != nil {
			t.Errorf("%s, which cannot be moved, is gone: %v", name, err)
		}
	}
}

// TestAutoscalersOfBothVersions checks that both versions of HorizontalPodAutoscalers are one stored object.
func TestAutoscalersOfBothVersions(t *testing.T) {
	s := newTestServer(t)
	const v1, v2 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	created := s.must(http.StatusCreated, "POST", v1, `{"metadata":{"name":"web"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":70,
		"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"}}}`)
	read := s.must(http.StatusOK, "GET", v2+"/web", "")
	text, err := json.Marshal(read["spec"])
	if err != nil || !strings.Contains(string(text), `"averageUtilization":70`) || versionOf(read) != versionOf(created) {
		t.Errorf("version 2 is %s: %v", text, err)
	}
	s.must(http.StatusOK, "PATCH", v2+"/web", `{"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`, "Content-Type", mergeType)
	if spec := s.must(http.StatusOK, "GET", v1+"/web", "")["spec"].(map[string]any); spec["targetCPUUtilizationPercentage"] != float64(50) {
		t.Errorf("version 1 is %v", spec)
	}
	if _, _, err := s.store.Get(t.Context(), "/registry/autoscaling/horizontalpodautoscalers/default/web"); err != nil {
		t.Error(err)
	}
}

// lines opens a watch, and returns a function that reads its next event.
func (s *testServer) lines(path string) func() map[string]any {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() map[string]any {
		s.t.Helper()
		if !lines.Scan() {
			s.t.Fatalf("the watch has ended: %v", lines.Err())
		}
		event := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			s.t.Fatal(err)
		}
		return event
	}
}
