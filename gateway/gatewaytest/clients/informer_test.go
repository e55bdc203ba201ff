package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// informer is a shared informer that runs, and what its handlers were told.
type informer struct {
	*client
	cache.SharedIndexInformer
	told chan string // "add NAME VALUE", "update NAME OLD NEW", "delete NAME VALUE"
}

// startInformer runs an informer until the test ends, and waits until it has synced.
func startInformer(t *testing.T, gw *gatewaytest.Gateway) *informer {
	t.Helper()
	i := &informer{client: newClient(t, gw), told: make(chan string, 1000)}
	i.SharedIndexInformer = dynamicinformer.NewFilteredDynamicInformer(i.dynamic(t), configMaps, namespace, 0, nil, nil).Informer()
	registration, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { i.told <- "add " + describe(o) },
		UpdateFunc: func(old, o any) { i.told <- "update " + describe(old) + " " + value(o) },
		DeleteFunc: func(o any) { i.told <- "delete " + describe(o) },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		i.Run(stop)
		close(ended)
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	gatewaytest.Until(t, "the informer's sync", registration.HasSynced)
	return i
}

func describe(o any) string {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return "unknown " + gone.Key // a delete that the informer did not see: a relist found it
	}
	return o.(*unstructured.Unstructured).GetName() + " " + value(o)
}

func value(o any) string {
	v, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "data", "value")
	return v
}

// expectState waits for what the handlers are told of the initial state, which comes in any order.
func (i *informer) expectState(t *testing.T, want ...string) {
	t.Helper()
	got := i.calls(t, len(want))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
}

// expect waits for what the handlers must be told next.
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
		select {
		case call := <-i.told:
			got = append(got, call)
		default:
		}
		return len(got) == n
	})
	return got
}

// checkStore compares the informer's store with a list.
func (i *informer) checkStore(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	list, err := newClient(t, gw).configMaps(t).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]any)
	for _, item := range list.Items {
		want[item.GetNamespace()+"/"+item.GetName()] = item.Object
	}
	gatewaytest.Until(t, "a store that equals the list", func() bool {
		got := make(map[string]any)
		for _, key := range i.GetStore().ListKeys() {
			if o, ok, err := i.GetStore().GetByKey(key); err == nil && ok {
				got[key] = o.(*unstructured.Unstructured).Object
			}
		}
		return cmp.Equal(want, got)
	})
}

// TestInformer: the list-then-watch loop with its queue, handlers and store.
func TestInformer(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	maps := newClient(t, gw).configMaps(t)
	create(t, maps, "a", "1")
	create(t, maps, "b", "1")
	i := startInformer(t, gw)
	i.expectState(t, "add a 1", "add b 1")

	create(t, maps, "c", "1")
	update(t, maps, "a", "2")
	remove(t, maps, "b")
	i.expect(t, "add c 1", "update a 1 2", "delete b 1")
	i.checkStore(t, gw)

	if lists := i.requests.lists(); len(lists) != 1 || !strings.Contains(lists[0], "sendInitialEvents=true") {
		t.Errorf("the informer asked for the state with %q, want one watch that begins with it", lists)
	}
}

// TestInformerEmpty: a resource without objects is synced too.
func TestInformerEmpty(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	i := startInformer(t, gw)
	create(t, newClient(t, gw).configMaps(t), "first", "1")
	i.expect(t, "add first 1")
}

// TestInformerRestart: however the gateway ends, an informer gets what it missed, and does not ask for the state again.
func TestInformerRestart(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*testing.T, *gatewaytest.Gateway){
		"SIGTERM": func(t *testing.T, gw *gatewaytest.Gateway) { gw.Stop(t) },
		"kill -9": func(t *testing.T, gw *gatewaytest.Gateway) { gw.Kill(t) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := gatewaytest.StartEtcd(t, 1)
			keys := gatewaytest.DialEtcd(t, etcd.Endpoints())
			gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
			maps := newClient(t, gw).configMaps(t)
			create(t, maps, "a", "1")
			create(t, maps, "b", "1")
			i := startInformer(t, gw)
			i.expectState(t, "add a 1", "add b 1")
			update(t, maps, "a", "2")
			i.expect(t, "update a 1 2")

			end(t, gw)
			const prefix = "/registry/configmaps/default/"
			keys.Put(t, prefix+"a", gatewaytest.ConfigMap("a", "3"))
			keys.Put(t, prefix+"c", gatewaytest.ConfigMap("c", "1"))
			keys.Delete(t, prefix+"b")
			gw.Restart(t)
			i.expect(t, "update a 2 3", "add c 1", "delete b 1")
			update(t, maps, "c", "2")
			i.expect(t, "update c 1 2")
			i.checkStore(t, gw)
			if lists := i.requests.lists(); len(lists) != 1 || !i.requests.resumed() {
				t.Errorf("the informer asked for the state with %q, want only once, and to resume", lists)
			}
		})
	}
}

// TestInformerExpired: an informer that comes back too late begins anew, and misses nothing.
func TestInformerExpired(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartEtcd(t, 1)
	keys := gatewaytest.DialEtcd(t, etcd.Endpoints())
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	maps := newClient(t, gw).configMaps(t)
	create(t, maps, "a", "1")
	create(t, maps, "b", "1")
	i := startInformer(t, gw)
	i.expectState(t, "add a 1", "add b 1")
	update(t, maps, "a", "2")
	i.expect(t, "update a 1 2")

	gw.Kill(t)
	keys.Delete(t, "/registry/configmaps/default/a")
	keys.Put(t, "/registry/configmaps/default/c", gatewaytest.ConfigMap("c", "1"))
	keys.Compact(t, keys.Revision(t))
	gw.Restart(t)
	gatewaytest.Until(t, "the new state", func() bool {
		keys := i.GetStore().ListKeys()
		return len(keys) == 2 && len(i.requests.lists()) == 2
	})
	i.checkStore(t, gw)
}
