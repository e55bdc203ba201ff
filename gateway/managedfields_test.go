package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// as writes with the User-Agent of a program.
func (s *testServer) as(agent string, code int, method, path, body string, header ...string) map[string]any {
	s.t.Helper()
	return s.must(code, method, path, body, append([]string{"User-Agent", agent}, header...)...)
}

// TestEveryWriteEntersItsManager checks that the manager is the fieldManager, or else the program's name up to the first slash.
func TestEveryWriteEntersItsManager(t *testing.T) {
	s := newTestServer(t)
	const nodes, p = "/api/v1/nodes", "/api/v1/nodes/p"
	const made, tainted, unschedulable = "one Update: {f:spec:{f:taints,f:unschedulable}}", "two Update: {f:spec:{f:taints}}", "one Update: {f:spec:{f:unschedulable}}"
	const labeled, running = "two Update: {f:metadata:{f:labels:{.,f:a}}}", "three Update status: {f:status:{f:phase}}"
	for _, step := range []struct {
		agent, method, path, contentType, body string
		code                                   int
		want                                   []string
	}{
		{"one/1.0 (linux)", "POST", nodes, "", `{"kind":"Node","apiVersion":"v1","metadata":{"name":"p"},"spec":{"unschedulable":true,"taints":[{"key":"a","effect":"NoSchedule"}]}}`, 201,
			[]string{made}},
		{"two", "PATCH", p, mergeType, `{"metadata":{"labels":{"a":"b"}}}`, 200,
			[]string{made, labeled}},
		{"two", "PATCH", p + "/status?fieldManager=three", strategicType, `{"status":{"phase":"Running"}}`, 200,
			[]string{made, running, labeled}},
		{"two", "PATCH", p, jsonPatchType, `[{"op":"remove","path":"/metadata/labels"},{"op":"replace","path":"/spec/taints/0/key","value":"b"}]`, 200,
			[]string{unschedulable, running, tainted}},
		{"one", "PUT", p + "/status", "", `{"kind":"Node","apiVersion":"v1","metadata":{"name":"p","managedFields":[]}}`, 200,
			[]string{unschedulable, tainted}},
	} {
		header := []string{"Content-Type", step.contentType}
		if step.contentType == "" {
			header = nil
		}
		got := managerEntries(t, s.as(step.agent, step.code, step.method, step.path, step.body, header...))
		if diff := cmp.Diff(step.want, slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("%s %s by %s (-want +got):\n%s", step.method, step.path, step.agent, diff)
		}
	}
}

// TestUnchangedObjectKeepsItsManagers checks that the managers, their times and the resourceVersion stay when any manager writes the same
// object, with any managedFields.
func TestUnchangedObjectKeepsItsManagers(t *testing.T) {
	s := newTestServer(t)
	made := s.as("one", http.StatusCreated, "POST", configMaps, configMap("a", "", `"data":{"k":"v"}`))
	for _, step := range []struct{ method, contentType, body string }{
		{"PUT", jsonBody, configMap("a", "", `"data":{"k":"v"}`)},
		{"PUT", jsonBody, configMap("a", `"managedFields":null`, `"data":{"k":"v"}`)},
		{"PUT", jsonBody, configMap("a", `"managedFields":[{"manager":"x"},{}]`, `"data":{"k":"v"}`)},
		{"PATCH", mergeType, `{}`},
		{"PATCH", mergeType, `{"data":{"k":"v"}}`},
		{"PATCH", jsonPatchType, `[]`},
	} {
		got := s.as("two", http.StatusOK, step.method, configMaps+"/a", step.body, "Content-Type", step.contentType)
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.body, diff)
		}
	}
}

// TestManagedFieldsCanBeReset checks a reset with an empty list, and with an empty entry.
func TestManagedFieldsCanBeReset(t *testing.T) {
	for _, reset := range []string{`[]`, `[{}]`} {
		s := newTestServer(t)
		s.as("one", http.StatusCreated, "POST", configMaps, configMap("a", "", `"data":{"k":"v"}`))
		got := s.as("two", http.StatusOK, "PATCH", configMaps+"/a", `{"metadata":{"managedFields":`+reset+`}}`, "Content-Type", mergeType)
		if len(managerEntries(t, got)) != 0 {
			t.Errorf("%s leaves %v", reset, managerEntries(t, got))
		}
		// The next apply finds the existing fields with the manager before-first-apply.
		s.apply(http.StatusConflict, configMaps+"/a", "m", configMap("a", "", `"data":{"k":"w"}`))
	}
}

// TestManagedFieldsAreDroppedForSize checks that an object that is too large for etcd with managedFields is stored without them.
func TestManagedFieldsAreDroppedForSize(t *testing.T) {
	s := newWriteServer(t, limitedStore{memory.New(), 1000})
	members := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`"k%02d":"v"`, i))
		}
		return `"data":{` + strings.Join(out, ",") + `}`
	}
	tracked := func(answered string) bool { return strings.Contains(answered, "managedFields") }
	if !tracked(s.send(t, http.StatusCreated, "POST", configMaps, configMap("a", "", members(2)))) {
		t.Error("a small object has no managedFields")
	}
	if tracked(s.send(t, http.StatusCreated, "POST", configMaps, configMap("b", "", members(50)))) {
		t.Error("a large object has managedFields")
	}
	if tracked(s.send(t, http.StatusOK, "PUT", configMaps+"/a", configMap("a", "", members(50)))) {
		t.Error("a small object that grew has managedFields")
	}
	s.send(t, http.StatusRequestEntityTooLarge, "PUT", configMaps+"/a", configMap("a", "", members(200)))
	s.send(t, http.StatusRequestEntityTooLarge, "POST", configMaps, configMap("c", "", members(200)))
}

// limitedStore refuses values that are longer than limit.
type limitedStore struct {
	etcdstore.Store
	limit int
}

func (s limitedStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	if len(value) > s.limit {
		return 0, fmt.Errorf("create: %w", etcdstore.ErrTooLarge)
	}
	return s.Store.Create(ctx, key, value)
}

func (s limitedStore) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	if len(value) > s.limit {
		return 0, fmt.Errorf("update: %w", etcdstore.ErrTooLarge)
	}
	return s.Store.Update(ctx, key, value, want)
}

// TestManagersOfAnotherVersion checks that the managers of a custom resource stay in another version, because all versions have the same
// fields.
func TestManagersOfAnotherVersion(t *testing.T) {
	s := newTestServer(t)
	const version = `
  - name: v1
    served: true
    storage: true`
	s.define(strings.Replace(widgetsDefinition, version, `
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`+version, 1))
	const path = "/namespaces/default/widgets/w?fieldManager="
	s.must(http.StatusCreated, "PATCH", "/apis/example.com/v1"+path+"m1", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"color":"red","size":1}}`,
		"Content-Type", applyType)
	both := s.must(http.StatusOK, "PATCH", "/apis/example.com/v2"+path+"m2", `{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"w"},"spec":{"max":9}}`, "Content-Type", applyType)
	want := []string{"m1 Apply: {f:spec:{f:color,f:size}}", "m2 Apply: {f:spec:{.,f:max}}"}
	if diff := cmp.Diff(want, managerEntries(t, both)); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	s.must(http.StatusConflict, "PATCH", "/apis/example.com/v2"+path+"m2", `{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"w"},"spec":{"color":"blue"}}`, "Content-Type", applyType)
}
