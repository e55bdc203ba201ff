package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore/memory"
)

// bubble is a gateway with a garbage collector in a synctest bubble, without a network.
type bubble struct {
	t      *testing.T
	store  *memory.Store
	server *Server
	stop   func()
}

// inBubble runs a test in a bubble of testing/synctest, on one processor: with more, two goroutines of a bubble that find their timers expired
// at the same time corrupt the memory of the race detector (https://go.dev/issue/78156), and a whole gateway has many.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}

func newBubble(t *testing.T, store *memory.Store) *bubble {
	t.Helper()
	b := newBubbleWith(t, Options{Store: store, GarbageCollector: true})
	b.store = store
	return b
}

func newBubbleWith(t *testing.T, options Options) *bubble {
	t.Helper()
	options.Prefix, options.Logger = "/registry", slog.New(slog.DiscardHandler)
	server, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Run(ctx) })
	b := &bubble{t: t, server: server, stop: func() {
		cancel()
		running.Wait()
	}}
	t.Cleanup(b.stop)
	if err := server.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return b
}

func (b *bubble) do(method, path, body string) answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// must fails the test when a response has another code.
func (b *bubble) must(code int, method, path, body string) answer {
	b.t.Helper()
	a := b.do(method, path, body)
	if a.code != code {
		b.t.Fatalf("%s %s: %d %s", method, path, a.code, a.body)
	}
	return a
}

// create creates an object with members of metadata beside its name, and returns its uid.
func (b *bubble) create(path, apiVersion, kind, name, metadata string) string {
	b.t.Helper()
	spec := map[string]string{"Pod": podSpec, "Deployment": workloadSpec, "ReplicaSet": workloadSpec}[kind]
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q%s},"spec":{%s}}`, apiVersion, kind, name, metadata, spec)
	return uidOf(b.t, b.must(http.StatusCreated, http.MethodPost, path, body).body)
}

func uidOf(t *testing.T, body string) string {
	t.Helper()
	var object struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatal(err)
	}
	return object.Metadata.UID
}

func (b *bubble) configMap(namespace, name, metadata string) string {
	b.t.Helper()
	return b.create("/api/v1/namespaces/"+namespace+"/configmaps", "v1", "ConfigMap", name, metadata)
}

func ownedBy(apiVersion, kind, name, uid string) string {
	return fmt.Sprintf(`,"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q}]`, apiVersion, kind, name, uid)
}

// gone reports whether a path is answered with 404 after some time.
func (b *bubble) gone(path string) bool {
	b.t.Helper()
	<-time.After(10 * time.Second)
	return b.do(http.MethodGet, path, "").code == http.StatusNotFound
}

const namespaceDemo = "/api/v1/namespaces/demo"

func TestDeleteNamespace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		b.create("/api/v1/namespaces", "v1", "Namespace", "demo", "")
		b.configMap("demo", "plain", "")
		b.configMap("demo", "held", `,"finalizers":["example.com/f"]`)
		b.configMap("other", "plain", "")
		b.store.Txn(map[string][]byte{"/registry/secrets/demo/broken": []byte("not JSON")}, nil)

		answer := b.must(http.StatusOK, http.MethodDelete, namespaceDemo, "").json(t)
		metadata, status := answer["metadata"].(map[string]any), answer["status"].(map[string]any)
		if answer["kind"] != "Namespace" || metadata["deletionTimestamp"] == nil || status["phase"] != "Terminating" {
			t.Errorf("DELETE is answered with %v", answer)
		}
		if b.gone(namespaceDemo) {
			t.Error("the namespace is gone while a finalizer holds an object in it")
		}
		if !b.gone(namespaceDemo+"/configmaps/plain") || b.gone(namespaceDemo+"/configmaps/held") || b.gone("/api/v1/namespaces/other/configmaps/plain") {
			t.Error("other objects are left than the one with a finalizer and the one in another namespace")
		}

		again := b.must(http.StatusOK, http.MethodDelete, namespaceDemo, "").json(t)["metadata"].(map[string]any)
		if again["resourceVersion"] != metadata["resourceVersion"] {
			t.Error("a second DELETE changes the namespace")
		}
		b.must(http.StatusOK, http.MethodPatch, namespaceDemo, `{"metadata":{"labels":{"l":"v"}}}`)
		if b.gone(namespaceDemo) {
			t.Error("an update removes a terminating namespace that is not empty")
		}

		b.must(http.StatusOK, http.MethodPatch, namespaceDemo+"/configmaps/held", `{"metadata":{"finalizers":null}}`)
		if !b.gone(namespaceDemo) {
			t.Error("the namespace stays after its last object")
		}
		if _, _, err := b.store.Get(t.Context(), "/registry/secrets/demo/broken"); err == nil {
			t.Error("a value that cannot be read stays in the namespace")
		}
		b.configMap("demo", "plain", "") // a namespace need not exist
	})
}

func TestDeleteEmptyNamespace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		b.create("/api/v1/namespaces", "v1", "Namespace", "demo", "")
		dry := b.must(http.StatusOK, http.MethodDelete, namespaceDemo+"?dryRun=All", "").json(t)
		if dry["status"].(map[string]any)["phase"] != "Terminating" {
			t.Errorf("a dry run is answered with %v", dry)
		}
		if a := b.must(http.StatusOK, http.MethodDelete, namespaceDemo, "").json(t); a["kind"] != "Namespace" {
			t.Errorf("DELETE is answered with %v", a)
		}
		b.must(http.StatusNotFound, http.MethodGet, namespaceDemo, "")
		b.must(http.StatusNotFound, http.MethodDelete, namespaceDemo, "")
	})
}

func TestCreateInTerminatingNamespace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		b.create("/api/v1/namespaces", "v1", "Namespace", "demo", "")
		b.configMap("demo", "held", `,"finalizers":["example.com/f"]`)
		b.must(http.StatusOK, http.MethodDelete, namespaceDemo, "")
		refusal := b.must(http.StatusForbidden, http.MethodPost, namespaceDemo+"/configmaps",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}`).json(t)
		want := `configmaps "late" is forbidden: unable to create new content in namespace demo because it is being terminated`
		if refusal["reason"] != "Forbidden" || refusal["message"] != want {
			t.Errorf("the refusal is %v, want %s", refusal, want)
		}
		cause, _ := refusal["details"].(map[string]any)["causes"].([]any)[0].(map[string]any)
		if cause["reason"] != "NamespaceTerminating" || cause["field"] != "metadata.namespace" {
			t.Errorf("the cause is %v", cause)
		}
		b.must(http.StatusForbidden, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/demo/leases/late",
			`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"late"}}`)
		b.must(http.StatusOK, http.MethodPatch, namespaceDemo+"/configmaps/held", `{"data":{"still":"writable"}}`)
	})
}

// TestNamespaceDeletionSurvivesRestart checks that a restarted gateway continues a deletion.
func TestNamespaceDeletionSurvivesRestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := memory.New()
		b := newBubble(t, store)
		b.create("/api/v1/namespaces", "v1", "Namespace", "demo", "")
		b.configMap("demo", "held", `,"finalizers":["example.com/f"]`)
		b.must(http.StatusOK, http.MethodDelete, namespaceDemo, "")
		b.stop()
		store.Txn(nil, []string{"/registry/configmaps/demo/held"})
		if b = newBubble(t, store); !b.gone(namespaceDemo) {
			t.Error("the namespace still exists")
		}
	})
}

func TestOwnerChain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		const apps, core = "/apis/apps/v1/namespaces/demo/", "/api/v1/namespaces/demo/"
		deployment := b.create(apps+"deployments", "apps/v1", "Deployment", "web", "")
		set := b.create(apps+"replicasets", "apps/v1", "ReplicaSet", "web-1", ownedBy("apps/v1", "Deployment", "web", deployment))
		for i := range 3 {
			b.create(core+"pods", "v1", "Pod", fmt.Sprintf("web-1-%d", i), ownedBy("apps/v1", "ReplicaSet", "web-1", set))
		}
		b.create(core+"pods", "v1", "Pod", "stray", ownedBy("example.com/v1", "Robot", "r", "1"))
		if b.gone(core + "pods/web-1-0") {
			t.Fatal("a pod is gone while its owner exists")
		}
		b.must(http.StatusOK, http.MethodDelete, apps+"deployments/web?propagationPolicy=Foreground", "")
		if !b.gone(apps+"replicasets/web-1") || !b.gone(core+"pods/web-1-0") || !b.gone(core+"pods/web-1-2") {
			t.Error("dependents are left")
		}
		if b.gone(core + "pods/stray") {
			t.Error("the owner of an unknown kind does not count as existing")
		}
	})
}

// TestPropagation checks what a delete does with dependents, by its policy or by the finalizers of the owner.
func TestPropagation(t *testing.T) {
	const owner, dependent = namespaceDemo + "/configmaps/owner", namespaceDemo + "/configmaps/dependent"
	tests := []struct {
		name, finalizers, query string
		keeps                   bool
	}{
		{name: "no policy"},
		{name: "Background", query: "?propagationPolicy=Background"},
		{name: "Foreground", query: "?propagationPolicy=Foreground"},
		{name: "Orphan", query: "?propagationPolicy=Orphan", keeps: true},
		{name: "orphanDependents", query: "?orphanDependents=true", keeps: true},
		{name: "orphanDependents is false", query: "?orphanDependents=false"},
		{name: "a finalizer for Orphan", finalizers: `,"finalizers":["orphan"]`, keeps: true},
		{name: "a finalizer for Foreground", finalizers: `,"finalizers":["foregroundDeletion"]`},
		{name: "the policy overrules the finalizer", finalizers: `,"finalizers":["orphan"]`, query: "?propagationPolicy=Background"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBubble(t, memory.New())
				uid := b.configMap("demo", "owner", test.finalizers)
				b.configMap("demo", "dependent", ownedBy("v1", "ConfigMap", "owner", uid))
				if a := b.do(http.MethodDelete, owner+test.query, ""); a.code/100 != 2 || a.header.Get("Warning") != "" {
					t.Errorf("DELETE is answered with %d %s, and a warning %q", a.code, a.body, a.header.Get("Warning"))
				}
				if !b.gone(owner) {
					t.Error("the owner stays")
				}
				if gone := b.gone(dependent); gone == test.keeps {
					t.Errorf("the dependent is gone: %v, want %v", gone, !test.keeps)
				} else if !gone && strings.Contains(b.do(http.MethodGet, dependent, "").body, "ownerReferences") {
					t.Error("the dependent still refers to its owner")
				}
			})
		})
	}
}

// TestPropagationByDefault checks that ReplicationControllers and Jobs keep their dependents without a policy, unless the collector deletes them.
func TestPropagationByDefault(t *testing.T) {
	const namespace = "/apis/batch/v1/namespaces/demo"
	const pod = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
	tests := []struct {
		name, finalizers, query string
		keeps, warns            bool
	}{
		{name: "no policy", keeps: true, warns: true},
		{name: "Background", query: "?propagationPolicy=Background"},
		{name: "Orphan", query: "?propagationPolicy=Orphan", keeps: true},
		{name: "a finalizer for Foreground", finalizers: `,"finalizers":["foregroundDeletion"]`, warns: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBubble(t, memory.New())
				cron := b.configMap("demo", "cron", "")
				b.must(http.StatusCreated, http.MethodPost, namespace+"/jobs", `{"metadata":{"name":"owner"`+test.finalizers+`},"spec":{`+pod+`}}`)
				uid := uidOf(t, b.must(http.StatusOK, http.MethodGet, namespace+"/jobs/owner", "").body)
				b.configMap("demo", "dependent", ownedBy("batch/v1", "Job", "owner", uid))
				a := b.must(http.StatusOK, http.MethodDelete, namespace+"/jobs/owner"+test.query, "")
				if warns := strings.Contains(a.header.Get("Warning"), "child pods are preserved by default"); warns != test.warns {
					t.Errorf("the warning is %q", a.header.Get("Warning"))
				}
				if !b.gone(namespace + "/jobs/owner") {
					t.Error("the owner stays")
				}
				if b.gone(namespaceDemo+"/configmaps/dependent") == test.keeps {
					t.Errorf("the dependent is gone: %v, want %v", !test.keeps, test.keeps)
				}

				owned := ownedBy("v1", "ConfigMap", "cron", cron)
				b.must(http.StatusCreated, http.MethodPost, namespace+"/jobs", `{"metadata":{"name":"owned"`+owned+`},"spec":{`+pod+`}}`)
				uid = uidOf(t, b.must(http.StatusOK, http.MethodGet, namespace+"/jobs/owned", "").body)
				b.configMap("demo", "second", ownedBy("batch/v1", "Job", "owned", uid))
				b.must(http.StatusOK, http.MethodDelete, namespaceDemo+"/configmaps/cron", "")
				if !b.gone(namespace+"/jobs/owned") || !b.gone(namespaceDemo+"/configmaps/second") {
					t.Error("the garbage collector keeps the dependents of a Job that it deletes")
				}
			})
		})
	}
}

// TestForegroundWaits checks that an owner exists until its blocking dependents are gone, and that a second delete with another policy does
// not wait.
func TestForegroundWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		const maps = namespaceDemo + "/configmaps/"
		for _, name := range []string{"one", "two"} {
			uid := b.configMap("demo", name, "")
			blocks := strings.Replace(ownedBy("v1", "ConfigMap", name, uid), `"uid"`, `"blockOwnerDeletion":true,"uid"`, 1)
			b.configMap("demo", name+"-held", blocks+`,"finalizers":["example.com/f"]`)
			b.must(http.StatusOK, http.MethodDelete, maps+name+"?propagationPolicy=Foreground", "")
			if b.gone(maps + name) {
				t.Fatalf("%s is gone before its dependent", name)
			}
			if !strings.Contains(b.must(http.StatusOK, http.MethodGet, maps+name+"-held", "").body, "deletionTimestamp") {
				t.Errorf("the dependent of %s is not deleted", name)
			}
		}
		b.must(http.StatusOK, http.MethodPatch, maps+"one-held", `{"metadata":{"finalizers":null}}`)
		if !b.gone(maps + "one") {
			t.Error("the owner stays after its dependent")
		}
		b.must(http.StatusOK, http.MethodDelete, maps+"two?propagationPolicy=Background", "")
		if !b.gone(maps + "two") {
			t.Error("a second delete, in the background, waits for the dependent")
		}
	})
}

// TestPropagationWithoutCollector checks that a delete adds no finalizer that only a garbage collector would remove.
func TestPropagationWithoutCollector(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubbleWith(t, Options{Store: memory.New()})
		for _, policy := range []string{"Orphan", "Foreground"} {
			uid := b.configMap("demo", "owner", "")
			b.configMap("demo", strings.ToLower(policy), ownedBy("v1", "ConfigMap", "owner", uid))
			b.must(http.StatusOK, http.MethodDelete, namespaceDemo+"/configmaps/owner?propagationPolicy="+policy, "")
			b.must(http.StatusNotFound, http.MethodGet, namespaceDemo+"/configmaps/owner", "")
			if b.gone(namespaceDemo + "/configmaps/" + strings.ToLower(policy)) {
				t.Errorf("%s: the dependent is gone without a garbage collector", policy)
			}
		}
	})
}

// TestTwoGateways checks that gateways on one etcd share the work, and that one continues the work of the other.
func TestTwoGateways(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := memory.New()
		first, second := newBubble(t, store), newBubble(t, store)
		owner := first.configMap("demo", "owner", "")
		first.configMap("demo", "dependent", ownedBy("v1", "ConfigMap", "owner", owner))
		second.must(http.StatusOK, http.MethodDelete, namespaceDemo+"/configmaps/owner", "")
		if !first.gone(namespaceDemo + "/configmaps/dependent") {
			t.Error("the dependent stays")
		}
		first.stop()
		second.configMap("demo", "dependent", ownedBy("v1", "ConfigMap", "owner", owner))
		if !second.gone(namespaceDemo + "/configmaps/dependent") {
			t.Error("the dependent stays when one gateway is left")
		}
	})
}

// TestExternalGarbageCollector checks that a DELETE leaves an object with the finalizer of its policy to another program, and that the
// gateway does nothing of that program's work.
func TestExternalGarbageCollector(t *testing.T) {
	for _, test := range []struct {
		name, policy, finalizer string
		external                bool
	}{
		{"orphan", "Orphan", "orphan", true},
		{"foreground", "Foreground", "foregroundDeletion", true},
		{"background", "Background", "", true},
		{"no collector", "Orphan", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBubbleWith(t, Options{Store: memory.New(), ExternalGarbageCollector: test.external})
				uid := b.configMap("demo", "owner", "")
				b.configMap("demo", "dependent", ownedBy("v1", "ConfigMap", "owner", uid))
				owner := namespaceDemo + "/configmaps/owner"
				b.must(http.StatusOK, http.MethodDelete, owner+"?propagationPolicy="+test.policy, "")
				if gone := b.gone(owner); gone != (test.finalizer == "") {
					t.Fatalf("the owner is gone: %v", gone)
				}
				if test.finalizer != "" {
					if got := b.must(http.StatusOK, http.MethodGet, owner, "").body; !strings.Contains(got, `"`+test.finalizer+`"`) || !strings.Contains(got, "deletionTimestamp") {
						t.Errorf("want the finalizer %s and a deletionTimestamp: %s", test.finalizer, got)
					}
				}
				if got := b.must(http.StatusOK, http.MethodGet, namespaceDemo+"/configmaps/dependent", "").body; !strings.Contains(got, uid) {
					t.Errorf("the dependent has changed: %s", got)
				}
			})
		})
	}
}

// TestExternalNamespaceDeletion checks that the gateway leaves a deleted Namespace, empty or not, to another program, which removes it by its
// finalize subresource.
func TestExternalNamespaceDeletion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubbleWith(t, Options{Store: memory.New(), ExternalGarbageCollector: true})
		b.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"empty"}}`)
		b.configMap("demo", "object", "")
		<-time.After(time.Minute) // its Namespace, which has no finalizer, is created
		for _, name := range []string{"empty", "demo"} {
			path := "/api/v1/namespaces/" + name
			if got := b.must(http.StatusOK, http.MethodDelete, path, "").body; !strings.Contains(got, `"finalizers":["kubernetes"]`) || !strings.Contains(got, `"Terminating"`) {
				t.Errorf("want the finalizer of another program: %s", got)
			}
			if b.gone(path) {
				t.Fatalf("the Namespace %s is gone", name)
			}
			b.must(http.StatusOK, http.MethodPut, path+"/finalize", `{"metadata":{"name":"`+name+`"},"spec":{}}`)
			if !b.gone(path) {
				t.Errorf("the Namespace %s stays", name)
			}
		}
		b.must(http.StatusOK, http.MethodGet, namespaceDemo+"/configmaps/object", "")
	})
}
