package gateway

import (
	"bufio"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
)

func TestDeletedDefinitionTakesItsObjectsAlong(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))
	held := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]}}`
	s.must(http.StatusCreated, http.MethodPost, widgets, held)
	watch := open(t, &http.Client{Timeout: 30 * time.Second}, s.url+widgets+"?watch=1&resourceVersion=0")
	defer watch.Body.Close()
	var events []string
	lines := bufio.NewScanner(watch.Body)
	next := func() bool {
		if !lines.Scan() {
			return false
		}
		event := decodeJSON(t, lines.Text())
		events = append(events, text(t, event, "type")+" "+text(t, event, "object", "metadata", "name"))
		return true
	}
	for range 2 { // the state is taken when it is sent
		if !next() {
			t.Fatal("the watch ended before its state")
		}
	}

	deleted := s.must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
	if text(t, deleted, "metadata", "deletionTimestamp") == "" {
		t.Errorf("deleted at once: %v", deleted)
	}
	await(t, "the objects to be deleted", func() bool { return s.get(widgets+"/one").code == http.StatusNotFound })
	if c := s.conditions("widgets.example.com"); c["Terminating"] != "True" {
		t.Errorf("conditions while an object is held: %v", c)
	}
	s.must(http.StatusMethodNotAllowed, http.MethodPost, widgets, widget("late", `{}`))
	s.must(http.StatusOK, http.MethodPatch, widgets+"/held", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")

	for next() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the watch broke: %v", err)
	}
	want := []string{"ADDED held", "ADDED one", "DELETED held", "DELETED one", "MODIFIED held"}
	slices.Sort(events)
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	if a := s.get(widgets); a.code != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", a.code, a.body)
	}
	s.must(http.StatusNotFound, http.MethodGet, crds+"/widgets.example.com", "")
	if page, err := s.store.List(t.Context(), "/registry/example.com/", etcdstore.ListOptions{}); err != nil || len(page.KVs) > 0 {
		t.Errorf("left in the store: %v %v", page.KVs, err)
	}
}
