package garbage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
)

// TestNamespaceIsDeletedWithItsContent checks which objects are deleted with a namespace, and which stay.
func TestNamespaceIsDeletedWithItsContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Namespace/a")
		w.put("Namespace/ab")
		w.put("Child/a/c1")
		w.put("Parent/a/p1")
		w.store.Txn(map[string][]byte{"/r/Child/a/broken": []byte("k8s\x00")}, nil)
		w.put("Child/ab/c1")
		w.put("Child/none/c1") // its namespace has no Namespace object
		w.put("Global/a")
		w.start()
		after(time.Minute)
		before := len(w.left())
		if before != 8 {
			t.Fatalf("%d objects exist, want 8: %q", before, w.left())
		}
		w.terminate("a", "")
		after(time.Second)
		w.expect("Namespace/ab", "Child/ab/c1", "Child/none/c1", "Global/a")
	})
}

// TestNamespaceWaitsForFinalizers checks that a namespace is removed soon after its last object, and not before.
func TestNamespaceWaitsForFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Namespace/a")
		w.write("Child/a/c1", `,"finalizers":["x/y"]`)
		w.write("Child/a/c2", `,"finalizers":["x/y"]`)
		w.put("Child/a/c3")
		w.start()
		w.terminate("a", "")
		after(time.Hour)
		w.expect("Namespace/a", "Child/a/c1", "Child/a/c2")
		if n := w.deletes.Load(); n > 5 {
			t.Errorf("%d attempts to delete 3 objects", n)
		}
		w.remove("Child/a/c1")
		after(time.Hour)
		w.expect("Namespace/a", "Child/a/c2")
		w.remove("Child/a/c2")
		after(2 * retryPeriod)
		w.expect()
	})
}

// TestNamespaceWithFinalizers checks that the namespace's own finalizers are respected too.
func TestNamespaceWithFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Child/a/c")
		w.start()
		w.terminate("a", `,"finalizers":["x/y"]`)
		after(time.Minute)
		w.expect("Namespace/a")
		w.terminate("a", "")
		after(2 * retryPeriod)
		w.expect()
	})
}

// TestObjectCreatedBeforeTheRemovalIsDeleted checks that an object created before the removal of its namespace is deleted with it, and that one created
// after it stays.
func TestObjectCreatedBeforeTheRemovalIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		late := &removalHook{Store: w.store, key: "/r/Namespace/a"}
		late.before = func() { w.put("Child/a/before") }
		late.after = func() {
			w.put("Namespace/a")
			w.put("Child/a/after")
		}
		w.startOn(late)
		w.terminate("a", "")
		after(time.Minute)
		w.expect("Namespace/a", "Child/a/after")
	})
}

// removalHook runs a function just before and just after a key is deleted.
type removalHook struct {
	etcdstore.Store
	key           string
	before, after func()
}

func (h *removalHook) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	if key != h.key {
		return h.Store.Delete(ctx, key, want)
	}
	h.before()
	revision, err := h.Store.Delete(ctx, key, want)
	h.after()
	return revision, err
}

// TestDeletionContinuesAfterACrash checks that another replica, or the same one after a restart, continues with a namespace that is partly deleted.
func TestDeletionContinuesAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 300 {
			w.put(fmt.Sprintf("Child/a/c%03d", i))
		}
		var dead atomic.Bool
		mortal := &mortalStore{Store: w.store, dead: &dead}
		w.setHook(func(string) error {
			if w.deletes.Load() == 100 {
				dead.Store(true)
			}
			return nil
		})
		w.startOn(mortal)
		w.terminate("a", "")
		after(time.Minute)
		if n := len(w.left()); n < 200 || n > 210 {
			t.Fatalf("%d objects are left after the crash", n)
		}
		if w.leader("namespaces") == "" {
			t.Fatal("the crashed leader has released its key")
		}
		w.start()
		after(leaseDuration - time.Second)
		if n := len(w.left()); n < 200 {
			t.Errorf("%d objects are left: the next leader did not wait for the lease", n)
		}
		after(2 * time.Second)
		w.expect()
	})
}

var errDead = errors.New("this process is dead")

// mortalStore is a store for a process that crashes.
type mortalStore struct {
	etcdstore.Store
	dead *atomic.Bool
}

func (s *mortalStore) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	if s.dead.Load() {
		return etcdstore.KV{}, 0, errDead
	}
	return s.Store.Get(ctx, key)
}

func (s *mortalStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Create(ctx, key, value)
}

func (s *mortalStore) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Update(ctx, key, value, want)
}

func (s *mortalStore) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Delete(ctx, key, want)
}

// TestLargeNamespaceDelaysNoOther checks that a small namespace does not wait for an earlier large one.
func TestLargeNamespaceDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const large = 3000
		puts := map[string][]byte{}
		for i := range large {
			puts[fmt.Sprintf("/r/Child/large/c%05d", i)] = []byte(`{"metadata":{}}`)
		}
		w.store.Txn(puts, nil)
		w.put("Child/small/c")
		w.put("Child/gone/c", "Parent/p")
		w.setHook(func(string) error {
			<-time.After(10 * time.Millisecond) // the time of a disk
			return nil
		})
		w.start()
		w.terminate("large", "")
		after(50 * time.Millisecond)
		w.terminate("small", "")
		after(time.Second)
		left := w.left()
		for _, path := range left {
			if strings.Contains(path, "small") || strings.Contains(path, "gone") {
				t.Errorf("%s still exists", path)
			}
		}
		if len(left) < large/2 {
			t.Errorf("%d objects are left of the large namespace: it was emptied without pace", len(left))
		}
		after(time.Minute)
		w.expect()
	})
}

// TestRemoveEmpty checks that a namespace is removed at once only if it is empty and unchanged.
func TestRemoveEmpty(t *testing.T) {
	w := newWorld(t)
	resources := w.resources(w.store)
	c := w.collector(resources)
	c.Serve(resources)
	w.put("Namespace/a")
	w.put("Child/a/c")
	read := func() *Object {
		o, err := resources[0].Objects.Read(t.Context(), "", "a")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if removed, err := c.RemoveEmpty(t.Context(), read()); removed || err != nil {
		t.Errorf("a namespace with an object in it: removed %v, error %v", removed, err)
	}
	w.remove("Child/a/c")
	old := read()
	w.put("Namespace/a")
	if removed, err := c.RemoveEmpty(t.Context(), old); removed || !errors.Is(err, etcdstore.ErrConflict) {
		t.Errorf("a namespace that has changed: removed %v, error %v", removed, err)
	}
	if removed, err := c.RemoveEmpty(t.Context(), read()); !removed || err != nil {
		t.Errorf("an empty namespace: removed %v, error %v", removed, err)
	}
	w.expect()
}
