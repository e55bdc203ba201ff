package gateway

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest/rawhttp"
)

func TestDeletedDefinitionDeletesItsObjects(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))
	held := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]}}`
	s.must(http.StatusCreated, http.MethodPost, widgets, held)
	watch := rawhttp.Get(t, &http.Client{Timeout: 30 * time.Second}, s.url+widgets+"?watch=1&resourceVersion=0")
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
	for range 2 { // the objects of the initial state
		if !next() {
			t.Fatal("the watch ended before its initial events")
		}
	}

	deleted := s.must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
	if text(t, deleted, "metadata", "deletionTimestamp") == "" {
		t.Errorf("the definition is deleted at once: %v", deleted)
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
		t.Errorf("after the deletion: %d %s", a.code, a.body)
	}
	s.must(http.StatusNotFound, http.MethodGet, crds+"/widgets.example.com", "")
	s.leftInStore("/registry/example.com/")
}

// leftInStore fails the test if the keys with a prefix are not those named.
func (s *testServer) leftInStore(prefix string, want ...string) {
	s.t.Helper()
	page, err := s.store.List(s.t.Context(), prefix, etcdstore.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, kv := range page.KVs {
		got = append(got, strings.TrimPrefix(kv.Key, prefix))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("left in the store below %s (-want +got):\n%s", prefix, diff)
	}
}

// deleteDefinition deletes a definition and waits until it is gone.
func (s *testServer) deleteDefinition(name string) {
	s.t.Helper()
	s.must(http.StatusOK, http.MethodDelete, crds+"/"+name, "")
	await(s.t, name+" to go", func() bool { return s.get(crds+"/"+name).code == http.StatusNotFound })
}

func TestDeletedDefinitionDeletesUnservedObjects(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))
	s.must(http.StatusOK, http.MethodPatch, crds+"/widgets.example.com", `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`,
		"Content-Type", "application/json-patch+json")
	await(t, "no version to be served", func() bool { return !s.served(widgets) })
	s.leftInStore("/registry/example.com/widgets/", "default/one")

	s.deleteDefinition("widgets.example.com")
	s.leftInStore("/registry/example.com/")
}

// TestDeletedDefinitionLeavesBuiltinObjects checks that a definition whose name conflicts with a built-in kind deletes no objects.
func TestDeletedDefinitionLeavesBuiltinObjects(t *testing.T) {
	s := newTestServer(t)
	manifest := strings.NewReplacer("widgets", "leases", "Widget", "Tenancy", "example.com", "coordination.k8s.io",
		"metadata: {", "metadata: {annotations: {api-approved.kubernetes.io: unapproved}, ").Replace(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, crds, asJSON(t, manifest))
	await(t, "a verdict", func() bool {
		return s.conditions("leases.coordination.k8s.io")["NamesAccepted"] == "False PluralConflict"
	})
	s.must(http.StatusCreated, http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/default/leases",
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"held"}}`)

	s.deleteDefinition("leases.coordination.k8s.io")
	s.leftInStore("/registry/coordination.k8s.io/leases/", "default/held")
}

// deafStore is a store whose watches of definitions deliver nothing, as in a replica that gets changes late.
type deafStore struct {
	*memory.Store
	deaf atomic.Bool
}

func (s *deafStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	watcher := s.Store.Watch(ctx, prefix, o)
	if !strings.Contains(prefix, "/customresourcedefinitions/") {
		return watcher
	}
	return &deafWatcher{watcher, s}
}

type deafWatcher struct {
	etcdstore.Watcher
	store *deafStore
}

func (w *deafWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	batch, err := w.Watcher.Next(ctx)
	if err == nil && w.store.deaf.Load() {
		<-ctx.Done()
		return etcdstore.Batch{}, ctx.Err()
	}
	return batch, err
}

// TestLateReplicaCreatesByTheStateOfEtcd checks that the state of etcd, and not that of the replica, decides whether an object can be
// created.
func TestLateReplicaCreatesByTheStateOfEtcd(t *testing.T) {
	const held = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]}}`
	for _, test := range []struct {
		name   string
		change func(s *testServer)
		code   int
		left   []string
	}{
		{"a change", func(s *testServer) {
			s.must(http.StatusOK, http.MethodPatch, crds+"/widgets.example.com", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
		}, http.StatusCreated, []string{"default/late"}},
		{"a deletion in progress", func(s *testServer) {
			s.must(http.StatusCreated, http.MethodPost, widgets, held)
			s.must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
		}, http.StatusMethodNotAllowed, []string{"default/held"}},
		{"a deletion", func(s *testServer) {
			s.deleteDefinition("widgets.example.com")
		}, http.StatusNotFound, nil},
		{"a deletion and a new definition", func(s *testServer) {
			s.deleteDefinition("widgets.example.com")
			s.define(widgetsDefinition)
		}, http.StatusCreated, []string{"default/late"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := memory.New()
			first, through := serveStore(t, store), &deafStore{Store: store}
			second := serveThrough(t, store, through)
			first.define(widgetsDefinition)
			await(t, "the second to serve", func() bool { return second.served(widgets) })
			through.deaf.Store(true)
			test.change(first)

			second.must(test.code, http.MethodPost, widgets, widget("late", `{}`))
			first.leftInStore("/registry/example.com/widgets/", test.left...)
			second.must(test.code, http.MethodPatch, widgets+"/applied?fieldManager=m", widget("applied", `{}`), "Content-Type", "application/apply-patch+yaml")
		})
	}
}

// TestReplicaWaitsForAnEstablishedDefinition checks that a replica does not answer 404 for a definition that another replica has
// established, but waits until it serves it.
func TestReplicaWaitsForAnEstablishedDefinition(t *testing.T) {
	store := memory.New()
	first, second := serveStore(t, store), serveStore(t, store)
	for i := range 20 {
		name := fmt.Sprintf("late%d", i)
		manifest := strings.NewReplacer("widgets", name, "wd", name+"s", "Widget", "Late"+strconv.Itoa(i)).Replace(widgetsDefinition)
		first.define(manifest)
		first.must(http.StatusOK, http.MethodGet, "/apis/example.com/v1/"+name, "")
		second.must(http.StatusOK, http.MethodGet, "/apis/example.com/v1/"+name, "")
	}
	for _, path := range []string{"/apis/example.com/v1/unknown", "/apis/example.com/v9/late1"} {
		if a := second.get(path); a.code != http.StatusNotFound {
			t.Errorf("%s: %d %s, want 404", path, a.code, a.body)
		}
	}
}
