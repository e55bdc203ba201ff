package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// ends are the ways to end a gateway.
var ends = map[string]func(*testing.T, *gatewaytest.Gateway){
	"SIGTERM": func(t *testing.T, gw *gatewaytest.Gateway) { gw.Stop(t) },
	"kill -9": func(t *testing.T, gw *gatewaytest.Gateway) { gw.Kill(t) },
}

// startOnEtcd starts a gateway on an etcd process of its own, so that each of the two can end alone.
func startOnEtcd(t *testing.T) (*gatewaytest.Gateway, *gatewaytest.Keys, dynamic.ResourceInterface) {
	t.Helper()
	etcd := gatewaytest.StartEtcd(t, 1)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	return gw, gatewaytest.DialEtcd(t, etcd.Endpoints()), newClient(t, gw).configMaps(t)
}

// reflector is a reflector on the typed client, which prefers protobuf.
type reflector struct {
	*client
	store cache.Store
}

// startReflector runs a reflector until the test ends.
func startReflector(t *testing.T, gw *gatewaytest.Gateway) *reflector {
	t.Helper()
	r := &reflector{client: newClient(t, gw), store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	maps := r.typed(t).CoreV1().ConfigMaps(namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, o)
		},
	}
	background(t, cache.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, r.store, cache.ReflectorOptions{}).RunWithContext)
	return r
}

// expect waits until the store has these values, and no others.
func (r *reflector) expect(t *testing.T, want map[string]string) {
	t.Helper()
	gatewaytest.Until(t, fmt.Sprintf("a store with %v", want), func() bool {
		got := make(map[string]string)
		for _, o := range r.store.List() {
			got[accessor(o).GetName()] = value(o)
		}
		return cmp.Equal(want, got)
	})
}

// TestReflector checks that a compaction does not disturb a reflector that has got the events.
func TestReflector(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	maps := newClient(t, gw).configMaps(t)
	create(t, maps, "a", "1")
	create(t, maps, "b", "1")
	r := startReflector(t, gw)
	r.expect(t, map[string]string{"a": "1", "b": "1"})
	create(t, maps, "c", "1")
	update(t, maps, "a", "2")
	keys := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	keys.Compact(t, keys.Revision(t))
	remove(t, maps, "b")
	r.expect(t, map[string]string{"a": "2", "c": "1"})
	r.requests.expectState(t, "configmaps", 1)
}

// TestReflectorRestart checks that a reflector gets the changes during a restart of the gateway, and that it requests the state again if,
// and only if, etcd has compacted changes after its last revision.
func TestReflectorRestart(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		for compacted, states := range map[bool]int{false: 1, true: 2} {
			t.Run(fmt.Sprintf("%s, compacted %v", name, compacted), func(t *testing.T) {
				t.Parallel()
				gw, keys, maps := startOnEtcd(t)
				create(t, maps, "a", "1")
				create(t, maps, "b", "1")
				r := startReflector(t, gw)
				r.expect(t, map[string]string{"a": "1", "b": "1"})
				update(t, maps, "a", "2") // client-go does not resume a watch that ended within a second, with no event
				r.expect(t, map[string]string{"a": "2", "b": "1"})

				end(t, gw)
				keys.Put(t, mapKey("a"), gatewaytest.ConfigMap("a", "3"), mapKey("c"), gatewaytest.ConfigMap("c", "1"))
				keys.Delete(t, mapKey("b"))
				if compacted {
					keys.Compact(t, keys.Revision(t))
				}
				gw.Restart(t)
				r.expect(t, map[string]string{"a": "3", "c": "1"})
				update(t, maps, "c", "2")
				r.expect(t, map[string]string{"a": "3", "c": "2"})
				r.requests.expectState(t, "configmaps", states)
			})
		}
	}
}

// mapKey returns the key of a ConfigMap in etcd.
func mapKey(name string) string { return "/registry/configmaps/" + namespace + "/" + name }

// TestReflectorBookmark checks that a gateway that ends gracefully sends a bookmark, so that a reflector whose objects have not changed for
// long resumes, although its last event is compacted.
func TestReflectorBookmark(t *testing.T) {
	t.Parallel()
	gw, keys, maps := startOnEtcd(t)
	create(t, maps, "a", "1")
	r := startReflector(t, gw)
	r.expect(t, map[string]string{"a": "1"})
	for range 10 {
		keys.Put(t, "/registry/secrets/default/other", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"other"}}`)
	}

	gw.Stop(t)
	keys.Compact(t, keys.Revision(t))
	keys.Put(t, mapKey("a"), gatewaytest.ConfigMap("a", "2"))
	gw.Restart(t)
	r.expect(t, map[string]string{"a": "2"})
	r.requests.expectState(t, "configmaps", 1)
}
