package clients

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// readers are the kinds of client on which informers are built: how each makes one for ConfigMaps, and how it lists.
var readers = map[string]struct {
	informer func(*testing.T, *client) cache.SharedIndexInformer
	list     func(*testing.T, *client) (runtime.Object, error)
}{
	"dynamic": {
		func(t *testing.T, c *client) cache.SharedIndexInformer {
			return dynamicinformer.NewFilteredDynamicInformer(c.dynamic(t), configMaps, namespace, 0, nil, nil).Informer()
		},
		func(t *testing.T, c *client) (runtime.Object, error) {
			return c.configMaps(t).List(t.Context(), metav1.ListOptions{})
		},
	},
	"typed": {
		func(t *testing.T, c *client) cache.SharedIndexInformer {
			return coreinformers.NewConfigMapInformer(c.typed(t), namespace, 0, nil)
		},
		func(t *testing.T, c *client) (runtime.Object, error) {
			return c.typed(t).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		},
	},
	"protobuf": {
		func(t *testing.T, c *client) cache.SharedIndexInformer {
			return coreinformers.NewConfigMapInformer(c.protobuf(t), namespace, 0, nil)
		},
		func(t *testing.T, c *client) (runtime.Object, error) {
			return c.protobuf(t).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		},
	},
	"metadata": {
		func(t *testing.T, c *client) cache.SharedIndexInformer {
			return metadatainformer.NewFilteredMetadataInformer(c.metadata(t), configMaps, namespace, 0, nil, nil).Informer()
		},
		func(t *testing.T, c *client) (runtime.Object, error) {
			return c.metadata(t).Resource(configMaps).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		},
	},
}

// informer is a running shared informer with the calls of its handlers.
type informer struct {
	*client
	cache.SharedIndexInformer
	kind string // of reader

	mu       sync.Mutex // guards the fields below
	told     []string   // "add NAME VALUE", "update NAME OLD NEW", "delete NAME VALUE"
	returned int        // number of those that calls has returned
}

// startInformer runs an informer of a kind of reader until the test ends, and waits until it has synced.
func startInformer(t *testing.T, gw *gatewaytest.Gateway, kind string) *informer {
	t.Helper()
	i := &informer{client: newClient(t, gw), kind: kind}
	i.SharedIndexInformer = readers[kind].informer(t, i.client)
	i.run(t)
	return i
}

func (i *informer) run(t *testing.T) {
	t.Helper()
	registration, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { i.tell("add " + describe(o)) },
		UpdateFunc: func(old, o any) {
			checkSuccessor(t, accessor(old), accessor(o))
			i.tell("update " + describe(old) + " " + value(o))
		},
		DeleteFunc: func(o any) { i.tell("delete " + describe(o)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, i.RunWithContext)
	gatewaytest.Until(t, "the informer's sync", registration.HasSynced)
}

// background runs a function until the test ends, and waits for its end.
func background(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func (i *informer) tell(call string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told = append(i.told, call)
}

func describe(o any) string {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return "unknown " + gone.Key // a delete that the informer missed: a relist found it
	}
	return accessor(o).GetName() + " " + value(o)
}

// checkSuccessor checks that an update is a later state of the same object, or the same one after a relist. Other programs that write to
// etcd set no uid.
func checkSuccessor(t *testing.T, before, after metav1.Object) {
	t.Helper()
	from, err := strconv.ParseInt(before.GetResourceVersion(), 10, 64)
	to, err2 := strconv.ParseInt(after.GetResourceVersion(), 10, 64)
	same := after.GetUID() == before.GetUID() || after.GetUID() == "" || before.GetUID() == ""
	if err != nil || err2 != nil || from > to || !same {
		t.Errorf("an update of %s from uid %s at %q to uid %s at %q", before.GetName(),
			before.GetUID(), before.GetResourceVersion(), after.GetUID(), after.GetResourceVersion())
	}
}

// expectState waits for the calls of handlers for the initial state, in any order.
func (i *informer) expectState(t *testing.T, want ...string) {
	t.Helper()
	got := i.calls(t, len(want))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
}

// expect waits for the next calls of the handlers.
func (i *informer) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, i.calls(t, len(want))); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
}

// calls waits for the next n calls of handlers.
func (i *informer) calls(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	gatewaytest.Until(t, fmt.Sprintf("%d calls of handlers", n), func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		if len(i.told) < i.returned+n {
			return false
		}
		got = slices.Clone(i.told[i.returned : i.returned+n])
		i.returned += n
		return true
	})
	return got
}

// checkStore compares the informer's store with a list of the same kind of client.
func (i *informer) checkStore(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	list, err := readers[i.kind].list(t, newClient(t, gw))
	if err != nil {
		t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]any)
	for _, item := range items {
		want[cache.MetaObjectToName(accessor(item)).String()] = item
	}
	var diff string
	defer func() {
		if diff != "" {
			t.Logf("the store (-list +store):\n%s", diff)
		}
	}()
	gatewaytest.Until(t, "a store that equals the list", func() bool {
		got := make(map[string]any)
		for _, item := range i.GetStore().List() {
			got[cache.MetaObjectToName(accessor(item)).String()] = item
		}
		// Unlike those of kube-apiserver, lists have the kind of each item, also for kinds that a client knows.
		diff = cmp.Diff(want, got, cmpopts.IgnoreTypes(metav1.TypeMeta{}))
		return diff == ""
	})
}

// TestInformer checks an informer with its queue, handlers and store, on every kind of client.
func TestInformer(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	maps := newClient(t, gw).configMaps(t)
	create(t, maps, "a", "1")
	create(t, maps, "b", "1")
	var informers []*informer
	for kind := range readers {
		i := startInformer(t, gw, kind)
		i.expectState(t, "add a 1", "add b 1")
		informers = append(informers, i)
	}
	create(t, maps, "c", "1")
	update(t, maps, "a", "2")
	remove(t, maps, "b")
	for _, i := range informers {
		i.expect(t, "add c 1", "update a 1 2", "delete b 1")
		i.checkStore(t, gw)
		i.requests.expectState(t, "configmaps", 1)
	}
}

// TestInformerEmpty checks that an informer syncs for a resource without objects too.
func TestInformerEmpty(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	i := startInformer(t, gw, "typed")
	create(t, newClient(t, gw).configMaps(t), "first", "1")
	i.expect(t, "add first 1")
}

// TestInformerRestart checks that an informer gets the changes during a restart of the gateway without requesting the state again.
func TestInformerRestart(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw, keys, maps := startOnEtcd(t)
			create(t, maps, "a", "1")
			create(t, maps, "b", "1")
			i := startInformer(t, gw, "dynamic")
			i.expectState(t, "add a 1", "add b 1")
			update(t, maps, "a", "2")
			i.expect(t, "update a 1 2")

			end(t, gw)
			keys.Put(t, mapKey("a"), gatewaytest.ConfigMap("a", "3"))
			keys.Put(t, mapKey("c"), gatewaytest.ConfigMap("c", "1"))
			keys.Delete(t, mapKey("b"))
			gw.Restart(t)
			i.expect(t, "update a 2 3", "add c 1", "delete b 1")
			update(t, maps, "c", "2")
			i.expect(t, "update c 1 2")
			i.checkStore(t, gw)
			i.requests.expectState(t, "configmaps", 1)
			if !i.requests.resumed() {
				t.Error("the informer did not resume")
			}
		})
	}
}

// TestInformerExpired checks that an informer that reconnects after a compaction lists again, and misses nothing.
func TestInformerExpired(t *testing.T) {
	t.Parallel()
	gw, keys, maps := startOnEtcd(t)
	create(t, maps, "a", "1")
	create(t, maps, "b", "1")
	i := startInformer(t, gw, "dynamic")
	i.expectState(t, "add a 1", "add b 1")
	update(t, maps, "a", "2")
	i.expect(t, "update a 1 2")

	gw.Kill(t)
	keys.Delete(t, mapKey("a"))
	keys.Put(t, mapKey("c"), gatewaytest.ConfigMap("c", "1"))
	keys.Compact(t, keys.Revision(t))
	gw.Restart(t)
	i.expectState(t, "add c 1", "delete unknown default/a", "update b 1 1")
	i.checkStore(t, gw)
	i.requests.expectState(t, "configmaps", 2)
}
