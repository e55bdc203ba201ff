package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/kinds"
	"revtail/gateway/claim"
)

// TestNamespacesInUse checks that a namespace has a Namespace from its first object on, at the same revision, and that the namespaces of every
// cluster exist too.
func TestNamespacesInUse(t *testing.T) {
	s := newTestServer(t)
	watch := s.follow("/api/v1/namespaces?watch=1&resourceVersion=1")
	created := s.must(http.StatusCreated, "POST", "/api/v1/namespaces/shop/configmaps", configMap("a", "", ""))
	revision := revisionOf(created)
	found := map[string]string{}
	for range 3 {
		var event struct {
			Type   string
			Object struct {
				Metadata struct {
					Name, ResourceVersion, UID, CreationTimestamp string
					Labels                                        map[string]string
				}
				Status struct{ Phase string }
			}
		}
		line, err := watch.reader.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &event)
		}
		if err != nil {
			t.Fatal(err)
		}
		m := event.Object.Metadata
		if event.Type != "ADDED" || event.Object.Status.Phase != "Active" || m.Labels["kubernetes.io/metadata.name"] != m.Name || m.UID == "" || m.CreationTimestamp == "" {
			t.Errorf("the event of %s is %+v", m.Name, event)
		}
		found[m.Name] = m.ResourceVersion
	}
	if diff := cmp.Diff(map[string]string{"default": revision, "kube-system": revision, "shop": revision}, found); diff != "" {
		t.Errorf("namespaces and their revisions (-want +got):\n%s", diff)
	}
	s.must(http.StatusCreated, "POST", "/api/v1/namespaces/other/configmaps?dryRun=All", configMap("a", "", ""))
	s.must(http.StatusCreated, "POST", "/apis/apps/v1/namespaces/shop/deployments", `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{`+workloadSpec+`}}`)
	s.catchUp("/api/v1/namespaces")
	if got := s.names("/api/v1/namespaces"); !slices.Equal(got, []string{"default", "kube-system", "shop"}) {
		t.Errorf("the namespaces are %q", got)
	}
}

// TestNamespaceOfAnExistingObject checks that a create that is refused makes no Namespace, and that an existing Namespace does not change.
func TestNamespaceOfAnExistingObject(t *testing.T) {
	store := memory.New()
	s := serveStore(t, store)
	s.must(http.StatusCreated, "POST", "/api/v1/namespaces", `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"team":"a"}}}`)
	store.Txn(map[string][]byte{"/registry/configmaps/plain/a": []byte(configMap("a", "", ""))}, nil)
	if a := s.do("POST", "/api/v1/namespaces/plain/configmaps", configMap("a", "", ""), "Content-Type", "application/json"); a.code != http.StatusConflict {
		t.Errorf("a create of what exists: %d %s", a.code, a.body)
	}
	s.must(http.StatusCreated, "POST", "/api/v1/namespaces/shop/configmaps", configMap("a", "", ""))
	s.catchUp("/api/v1/namespaces")
	if got := s.names("/api/v1/namespaces"); !slices.Equal(got, []string{"default", "kube-system", "shop"}) {
		t.Errorf("the namespaces are %q", got)
	}
	if shop := s.must(http.StatusOK, "GET", "/api/v1/namespaces/shop", ""); shop["metadata"].(map[string]any)["labels"].(map[string]any)["team"] != "a" {
		t.Errorf("the Namespace has changed: %v", shop)
	}
}

// TestNamespaceIsCreatedOnce creates the first objects of a namespace at the same time.
func TestNamespaceIsCreatedOnce(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	var creating sync.WaitGroup
	codes := make([]int, 40)
	for i := range codes {
		creating.Go(func() {
			path, body := "/api/v1/namespaces/shop/configmaps", configMap(fmt.Sprint("a", i), "", "")
			if i%2 == 0 {
				path, body = "/apis/example.com/v1/namespaces/shop/widgets", fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w%d"}}`, i)
			}
			codes[i] = s.do("POST", path, body, "Content-Type", "application/json").code
		})
	}
	creating.Wait()
	for i, code := range codes {
		if code != http.StatusCreated {
			t.Errorf("create %d: %d", i, code)
		}
	}
	kv, _, err := s.store.Get(t.Context(), "/registry/namespaces/shop")
	if err != nil || kv.Version != 1 {
		t.Errorf("the Namespace has version %d (%v), want 1", kv.Version, err)
	}
}

// TestSystemNamespacesStay checks that clients cannot delete the namespaces of every cluster.
func TestSystemNamespacesStay(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	for _, name := range []string{"default", "kube-system"} {
		a := s.do("DELETE", "/api/v1/namespaces/"+name, "")
		want := fmt.Sprintf("namespaces %q is forbidden: this namespace may not be deleted", name)
		if status := a.json(t); a.code != http.StatusForbidden || status["message"] != want {
			t.Errorf("DELETE %s: %d %s", name, a.code, a.body)
		}
	}
}

// TestNamespacesOfOtherPrograms checks that namespaces appear that other programs or earlier releases use, and that deleted ones stay deleted.
func TestNamespacesOfOtherPrograms(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBubble(t, memory.New())
		b.configMap("demo", "a", "")
		b.store.Txn(map[string][]byte{
			"/registry/configmaps/early/a": []byte(configMap("a", "", "")), "/registry/configmaps/early-2/a": []byte(configMap("a", "", "")),
			"/registry/secrets/Not_A_Name/a": []byte(configMap("a", "", "")),
		}, nil)
		<-time.After(2 * time.Minute)
		for _, name := range []string{"early", "early-2", "demo", "default"} {
			b.must(http.StatusOK, http.MethodGet, "/api/v1/namespaces/"+name, "")
		}
		before, err := b.store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.must(http.StatusOK, http.MethodDelete, "/api/v1/namespaces/early", "")
		<-time.After(time.Hour)
		if a := b.do(http.MethodGet, "/api/v1/namespaces/early", ""); a.code != http.StatusNotFound {
			t.Errorf("a deleted namespace is back: %d %s", a.code, a.body)
		}
		after, err := b.store.Revision(t.Context())
		if err != nil || after > before+20 {
			t.Errorf("%d writes in an hour without work (%v)", after-before, err)
		}
		b.configMap("early", "b", "")
		b.must(http.StatusOK, http.MethodGet, "/api/v1/namespaces/early", "")
	})
}

// TestForeignDataGetsNoNamespaces checks that revtail writes only what clients ask for into data that is not its own.
func TestForeignDataGetsNoNamespaces(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := memory.New()
		store.Txn(map[string][]byte{"/registry/configmaps/shop/theirs": []byte(configMap("theirs", "", ""))}, nil)
		owner, err := claim.Open(t.Context(), claim.Config{Store: store, Prefix: "/registry", Writable: true, Builtin: kinds.Builtin(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil || owner.State().Owner != claim.Foreign {
			t.Fatalf("the data is %+v (%v)", owner.State(), err)
		}
		b := newBubbleWith(t, Options{Store: store, Claim: owner, GarbageCollector: true})
		b.configMap("shop", "ours", "")
		<-time.After(time.Hour)
		page, err := store.List(t.Context(), "/", etcdstore.ListOptions{KeysOnly: true})
		if err != nil || len(page.KVs) != 2 {
			t.Errorf("the keys are %v (%v), want the two objects", page.KVs, err)
		}
	})
}
