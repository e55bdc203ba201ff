package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"revtail/etcdstore/memory"
	"revtail/gateway/resource"
)

const (
	quotaPath = "/api/v1/namespaces/default/resourcequotas"
	podsPath  = "/api/v1/namespaces/default/pods"
)

// limit creates the quota some and waits until it is in force.
func (s *testServer) limit(hard string) {
	s.t.Helper()
	s.must(http.StatusCreated, http.MethodPost, quotaPath, `{"metadata":{"name":"some"},"spec":{"hard":{`+hard+`}}}`)
	s.awaitUsed(`"used":{`)
}

// awaitUsed waits until the status of the quota some has some JSON in the memory of the gateway, which decides about creates. Memory has it later than etcd.
func (s *testServer) awaitUsed(used string) {
	s.t.Helper()
	await(s.t, used+" in the status of the quota", func() bool { return strings.Contains(s.get(quotaPath+"/some?resourceVersion=0").body, used) })
}

func (s *testServer) createPod(name, spec string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, podsPath, `{"metadata":{"name":"`+name+`"},"spec":{`+spec+podSpec+`}}`)
}

// createdAtOnce creates ConfigMaps at the same time, and returns how many of them were created.
func createdAtOnce(t *testing.T, n int, servers ...*testServer) int64 {
	t.Helper()
	var (
		running sync.WaitGroup
		created atomic.Int64
	)
	for i := range n {
		s := servers[i%len(servers)]
		running.Go(func() {
			a := s.do(http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"c%d"}}`, i))
			switch {
			case a.code == http.StatusCreated:
				created.Add(1)
			case a.code != http.StatusForbidden || !strings.Contains(a.body, "exceeded quota: some"):
				t.Errorf("%d %s", a.code, a.body)
			}
		})
	}
	running.Wait()
	return created.Load()
}

// TestQuotaOfManyAtOnce checks that exactly as many objects are created as a quota allows, by one gateway and by two.
func TestQuotaOfManyAtOnce(t *testing.T) {
	for replicas := 1; replicas <= 2; replicas++ {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			store := memory.New()
			servers := make([]*testServer, replicas)
			for i := range servers {
				servers[i] = serveStore(t, store)
			}
			servers[0].limit(`"count/configmaps":"5"`)
			for _, s := range servers {
				s.awaitUsed(`"used":{"count/configmaps":"0"}`)
			}
			if n := createdAtOnce(t, 20, servers...); n != 5 {
				t.Errorf("%d objects were created, want 5: %s", n, servers[0].get(quotaPath+"/some").body)
			}
			servers[0].awaitUsed(`"used":{"count/configmaps":"5"}`)
		})
	}
}

// TestQuotaStatus checks that the status of a quota follows deletions, changes of the limits, a restart, and refused creates.
func TestQuotaStatus(t *testing.T) {
	store := memory.New()
	s := serveStore(t, store)
	s.create("before")
	s.limit(`"count/configmaps":"2","pods":"1"`)
	s.awaitUsed(`"used":{"count/configmaps":"1","pods":"0"}`)
	s.create("second")
	s.awaitUsed(`"used":{"count/configmaps":"2","pods":"0"}`) // a count may have begun between the charge and the object
	a := s.do(http.MethodPost, configMaps, `{"metadata":{"name":"third"}}`)
	const refusal = `configmaps \"third\" is forbidden: exceeded quota: some, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2`
	if a.code != http.StatusForbidden || !strings.Contains(a.body, refusal) {
		t.Errorf("%d %s, want %s", a.code, a.body, refusal)
	}
	s.must(http.StatusOK, http.MethodDelete, configMaps+"/before", "")
	s.awaitUsed(`"used":{"count/configmaps":"1","pods":"0"}`)
	s.must(http.StatusOK, http.MethodPatch, quotaPath+"/some", `{"spec":{"hard":{"count/configmaps":"1","services":"3"}}}`, "Content-Type", "application/merge-patch+json")
	s.awaitUsed(`"used":{"count/configmaps":"1","pods":"0","services":"0"}`)
	if a := s.createPod("one", ""); a.code != http.StatusCreated {
		t.Fatalf("%d %s", a.code, a.body)
	}
	s.awaitUsed(`"pods":"1","services":"0"}`)
	if a := s.createPod("one", ""); a.code != http.StatusForbidden { // charged before it is known that the name is taken
		t.Errorf("%d %s", a.code, a.body)
	}
	s.must(http.StatusOK, http.MethodPatch, quotaPath+"/some", `{"spec":{"hard":{"pods":"3"}}}`, "Content-Type", "application/merge-patch+json")
	s.awaitUsed(`"status":{"hard":{"count/configmaps":"1","pods":"3"`)
	if a := s.createPod("one", ""); a.code != http.StatusConflict {
		t.Errorf("%d %s", a.code, a.body)
	}
	s.awaitUsed(`"used":{"count/configmaps":"1","pods":"1","services":"0"}`)

	again := serveStore(t, store)
	again.must(http.StatusForbidden, http.MethodPost, configMaps, `{"metadata":{"name":"third"}}`)
	again.must(http.StatusOK, http.MethodDelete, configMaps+"/second", "")
	again.awaitUsed(`"used":{"count/configmaps":"0","pods":"1","services":"0"}`)
}

// TestQuotaOfCustomResources checks that a quota counts objects whose definition comes after it.
func TestQuotaOfCustomResources(t *testing.T) {
	s := newTestServer(t)
	s.must(http.StatusCreated, http.MethodPost, quotaPath, `{"metadata":{"name":"some"},"spec":{"hard":{"count/widgets.example.com":"1"}}}`)
	s.awaitUsed(`"status":{"hard":{"count/widgets.example.com":"1"}`)
	s.define(widgetsDefinition)
	s.awaitUsed(`"used":{"count/widgets.example.com":"0"}`)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{"color":"red"}`))
	s.must(http.StatusForbidden, http.MethodPost, widgets, widget("two", `{"color":"red"}`))
	s.must(http.StatusOK, http.MethodDelete, widgets+"/one", "")
	s.awaitUsed(`"used":{"count/widgets.example.com":"0"}`)
}

// TestQuotaOfDryRun checks that a dry run is refused as the write would be, and uses nothing.
func TestQuotaOfDryRun(t *testing.T) {
	s := newTestServer(t)
	s.limit(`"count/configmaps":"1"`)
	for range 3 {
		if a := s.tryCreate("x"); a.code != http.StatusCreated {
			t.Fatalf("%d %s", a.code, a.body)
		}
	}
	s.create("x")
	// A write would be refused at once, because it writes the status of the quota; a dry run reads what the cache has of it.
	await(t, "the refusal of a dry run", func() bool { return s.tryCreate("y").code == http.StatusForbidden })
}

// TestPodsWithoutControllers checks that a Pod needs no ServiceAccount where no controller makes one, and has its token where it exists.
func TestPodsWithoutControllers(t *testing.T) {
	s := newTestServer(t)
	for spec, want := range map[string]string{
		"":                                "",
		`"serviceAccountName":"missing",`: "",
		`"priorityClassName":"system-node-critical",`: `"priority":2000001000`,
	} {
		if a := s.createPod("p", spec); a.code != http.StatusCreated || strings.Contains(a.body, "kube-api-access") || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", spec, a.code, a.body)
		}
		s.must(http.StatusOK, http.MethodDelete, podsPath+"/p", `{"gracePeriodSeconds":0}`)
	}
	s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
	if a := s.createPod("p", ""); !strings.Contains(a.body, "kube-api-access") || !strings.Contains(a.body, `"serviceAccountName":"default"`) {
		t.Errorf("%d %s", a.code, a.body)
	}
}

// TestNoReviewAllocates checks that a write that no plugin looks at costs no allocation.
func TestNoReviewAllocates(t *testing.T) {
	server, err := New(Options{Store: memory.New(), Prefix: "/registry", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, server)
	now := server.catalog.Current()
	for _, of := range []struct{ plural, subresource string }{{"configmaps", ""}, {"pods", "status"}} {
		ref := resource.Ref{Resource: now.Registry.Lookup("", "v1", of.plural), Scope: resource.Scope{Namespace: "default"}, Subresource: of.subresource}
		ctx := server.store.Admission.WithClient(t.Context(), nil)
		allocations := func() float64 {
			return testing.AllocsPerRun(100, func() {
				if review, err := server.store.Admission.Begin(ctx, ref); review != nil || err != nil {
					t.Errorf("%v, %v", review, err)
				}
			})
		}
		await(t, "a write of "+of.plural+" "+of.subresource+" without allocations", func() bool { return allocations() == 0 }) // other goroutines have some
	}
}
