package garbage

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOwners checks whether an object and its dependents are deleted.
func TestOwners(t *testing.T) {
	deleted := `,"deletionTimestamp":"2026-11-21T00:00:00Z"`
	tests := []struct {
		name  string
		begin func(*world)
		then  func(*world)
		left  []string
	}{
		{name: "the owner exists", begin: func(w *world) {
			w.put("Parent/a/p")
			w.put("Child/a/c", "Parent/p")
		}, left: []string{"Parent/a/p", "Child/a/c"}},
		{name: "the owner is deleted", begin: func(w *world) {
			w.put("Parent/a/p")
			w.put("Child/a/c", "Parent/p")
			w.put("Child/a/other")
		}, then: func(w *world) { w.remove("Parent/a/p") }, left: []string{"Child/a/other"}},
		{name: "a chain", begin: func(w *world) {
			w.put("Parent/a/p")
			w.put("Child/a/c1", "Parent/p")
			w.put("Child/a/c2", "Child/c1")
			w.put("Child/a/c3", "Child/c2")
		}, then: func(w *world) { w.remove("Parent/a/p") }, left: []string{}},
		{name: "a cycle keeps itself", begin: func(w *world) {
			w.put("Child/a/c1", "Child/c2")
			w.put("Child/a/c2", "Child/c1")
		}, left: []string{"Child/a/c1", "Child/a/c2"}},
		{name: "a cycle is deleted when one member is", begin: func(w *world) {
			w.put("Child/a/c1", "Child/c3")
			w.put("Child/a/c2", "Child/c1")
			w.put("Child/a/c3", "Child/c2")
		}, then: func(w *world) { w.remove("Child/a/c1") }, left: []string{}},
		{name: "one of two owners is deleted", begin: func(w *world) {
			w.put("Parent/a/p1")
			w.put("Parent/a/p2")
			w.put("Child/a/c", "Parent/p1", "Parent/p2")
		}, then: func(w *world) { w.remove("Parent/a/p1") }, left: []string{"Parent/a/p2", "Child/a/c"}},
		{name: "both of two owners are deleted", begin: func(w *world) {
			w.put("Parent/a/p1")
			w.put("Parent/a/p2")
			w.put("Child/a/c", "Parent/p1", "Parent/p2")
		}, then: func(w *world) {
			w.remove("Parent/a/p1")
			after(time.Second)
			w.remove("Parent/a/p2")
		}, left: []string{}},
		{name: "another owner of the same name", begin: func(w *world) {
			w.put("Parent/a/p:first")
			w.put("Child/a/c", "Parent/p:first")
		}, then: func(w *world) {
			w.remove("Parent/a/p")
			w.put("Parent/a/p:second")
		}, left: []string{"Parent/a/p"}},
		{name: "another owner in the same place at one revision", begin: func(w *world) {
			w.put("Parent/a/p:first")
			w.put("Child/a/c", "Parent/p:first")
		}, then: func(w *world) { w.put("Parent/a/p:second") }, left: []string{"Parent/a/p"}},
		{name: "an owner deleted before the start", begin: func(w *world) {
			w.put("Child/a/c", "Parent/p")
		}, left: []string{}},
		{name: "an owner that never existed", then: func(w *world) {
			w.put("Child/a/c", "Parent/p")
		}, left: []string{}},
		{name: "a reference that is added later", begin: func(w *world) {
			w.put("Child/a/c")
		}, then: func(w *world) { w.put("Child/a/c", "Parent/p") }, left: []string{}},
		{name: "an owner of a kind that is not served", begin: func(w *world) {
			w.put("Child/a/c", "Parent/p", "Unknown/u")
		}, left: []string{"Child/a/c"}},
		{name: "a cluster-wide owner", begin: func(w *world) {
			w.put("Global/g")
			w.put("Child/a/c1", "Global/g")
			w.put("Child/a/c2", "Global/gone")
		}, left: []string{"Global/g", "Child/a/c1"}},
		{name: "an owner in another namespace does not count", begin: func(w *world) {
			w.put("Parent/b/p")
			w.put("Child/a/c", "Parent/p")
		}, left: []string{"Parent/b/p"}},
		{name: "a cluster-wide object cannot have an owner in a namespace", begin: func(w *world) {
			w.put("Global/g", "Parent/p")
		}, left: []string{"Global/g"}},
		{name: "an owner that cannot be read", begin: func(w *world) {
			w.store.Txn(map[string][]byte{"/r/Parent/a/p": []byte("k8s\x00")}, nil)
			w.put("Child/a/c", "Parent/p")
		}, left: []string{"Parent/a/p", "Child/a/c"}},
		{name: "an owner without a uid", begin: func(w *world) {
			w.store.Txn(map[string][]byte{"/r/Parent/a/p": []byte(`{"data":{}}`)}, nil)
			w.put("Child/a/c", "Parent/p")
		}, left: []string{"Parent/a/p", "Child/a/c"}},
		{name: "a reference without a uid", begin: func(w *world) {
			w.put("Child/a/c", "Parent/p:")
		}, left: []string{"Child/a/c"}},
		{name: "malformed references", begin: func(w *world) {
			w.write("Child/a/c", `,"ownerReferences":"p"`)
		}, left: []string{"Child/a/c"}},
		{name: "an owner that waits for its finalizers", begin: func(w *world) {
			w.write("Parent/a/p", deleted+`,"finalizers":["x/y"]`)
			w.put("Child/a/c", "Parent/p")
		}, left: []string{"Parent/a/p", "Child/a/c"}},
		{name: "a dependent that waits for its finalizers", begin: func(w *world) {
			w.write("Child/a/c1", `,"finalizers":["x/y"]`, "Parent/p")
			w.put("Child/a/c2", "Child/c1")
		}, left: []string{"Child/a/c1", "Child/a/c2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if test.begin != nil {
					test.begin(w)
				}
				w.start()
				synctest.Wait()
				if test.then != nil {
					test.then(w)
				}
				after(time.Minute)
				w.expect(test.left...)
			})
		})
	}
}

// TestOwnersAreVerified checks that the collector reads an owner from etcd before it deletes a dependent, and does not rely on its cache.
func TestOwnersAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Parent/a/p")
		w.put("Child/a/c", "Parent/p")
		w.forgetful.Store(true)
		w.start()
		after(time.Minute)
		w.expect("Parent/a/p", "Child/a/c")
		if n := w.deletes.Load(); n != 0 {
			t.Errorf("%d attempts to delete an object whose owner exists", n)
		}
		w.forgetful.Store(false)
		w.remove("Parent/a/p")
		after(time.Second)
		w.expect()
	})
}

// TestDependentThatGetsAnOwnerStays checks that an object which gets an existing owner before its deletion stays.
func TestDependentThatGetsAnOwnerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Parent/a/p1")
		w.put("Parent/a/p2")
		w.put("Child/a/c", "Parent/p1")
		w.setHook(func(key string) error {
			if strings.HasSuffix(key, "/c") {
				w.put("Child/a/c", "Parent/p2")
			}
			return nil
		})
		w.start()
		synctest.Wait()
		w.remove("Parent/a/p1")
		after(time.Minute)
		w.expect("Parent/a/p2", "Child/a/c")
		if n := w.deletes.Load(); n != 1 {
			t.Errorf("%d attempts to delete it, want 1", n)
		}
	})
}

// TestFailedDeletesAreRepeated checks that garbage is deleted after etcd was unavailable.
func TestFailedDeletesAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHook(func(string) error { return errors.New("no") })
		w.start()
		w.put("Child/a/c", "Parent/p")
		after(10 * time.Second)
		w.expect("Child/a/c")
		w.setHook(nil)
		after(maxPause)
		w.expect()
	})
}

// TestGraphHoldsOnlyDependentsAndOwners checks that objects which are not collected need no memory.
func TestGraphHoldsOnlyDependentsAndOwners(t *testing.T) {
	w := newWorld(t)
	resources := w.resources(w.store)
	g := newGraph(resources)
	at := func(name string) objectKey { return objectKey{resources[3], "a", name} }
	w.put("Child/a/plain")
	w.put("Child/a/unknown", "Unknown/u")
	w.put("Child/a/owned", "Parent/p", "Parent/q")
	for _, name := range []string{"plain", "unknown", "owned"} {
		o, err := resources[3].Objects.Read(t.Context(), "a", name)
		if err != nil {
			t.Fatal(err)
		}
		g.set(at(name), o)
	}
	if len(g.owners) != 1 || len(g.dependents) != 2 {
		t.Errorf("the graph holds %d dependents and %d owners, want 1 and 2", len(g.owners), len(g.dependents))
	}
	g.remove(at("owned"))
	if len(g.owners)+len(g.dependents) > 0 {
		t.Errorf("an empty graph holds %d dependents and %d owners", len(g.owners), len(g.dependents))
	}
}

// TestReferencesAreResolvedAgainWhenKindsChange checks that references are resolved again when the served kinds change.
func TestReferencesAreResolvedAgainWhenKindsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Child/a/c", "Parent/p")
		resources := w.resources(w.store)
		c := w.collector(resources)
		c.Serve([]*Resource{resources[0], resources[1], resources[3]}) // without Parent
		w.run(c)
		after(time.Minute)
		w.expect("Child/a/c")
		c.Serve(resources)
		after(time.Second)
		w.expect()
	})
}
