package clients

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// TestReflector: a reflector on the typed client, which would rather read protobuf, with and without the watch that begins
// with the state.
func TestReflector(t *testing.T) {
	t.Parallel()
	for _, watchList := range []bool{true, false} {
		name := "list, then watch"
		if watchList {
			name = "watch list"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := gatewaytest.Start(t)
			maps := newClient(t, gw).configMaps(t)
			create(t, maps, "a", "1")
			create(t, maps, "b", "1")
			c := newClient(t, gw)
			store := cache.NewStore(cache.MetaNamespaceKeyFunc)
			reflect(t, listWatch(t, c, watchList), store)
			values := func() map[string]string {
				got := make(map[string]string)
				for _, o := range store.List() {
					m := o.(*corev1.ConfigMap)
					got[m.Name] = m.Data["value"]
				}
				return got
			}
			gatewaytest.Until(t, "the state", func() bool { return cmp.Equal(values(), map[string]string{"a": "1", "b": "1"}) })
			create(t, maps, "c", "1")
			update(t, maps, "a", "2")
			remove(t, maps, "b")
			gatewaytest.Until(t, "the changes", func() bool { return cmp.Equal(values(), map[string]string{"a": "2", "c": "1"}) })
			lists := c.requests.lists()
			if len(lists) != 1 || strings.Contains(lists[0], "sendInitialEvents=true") != watchList {
				t.Errorf("the reflector asked for the state with %q", lists)
			}
		})
	}
}

// reflect runs a reflector until the test ends.
func reflect(t *testing.T, lw cache.ListerWatcher, store cache.Store) {
	t.Helper()
	reflector := cache.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, store, cache.ReflectorOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		reflector.RunWithContext(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// plain is a client that cannot speak of watches that begin with the state.
type plain struct{}

func (plain) IsWatchListSemanticsUnSupported() bool { return true }

func listWatch(t *testing.T, c *client, watchList bool) cache.ListerWatcher {
	t.Helper()
	maps := c.typed(t).CoreV1().ConfigMaps(namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, o)
		},
	}
	if watchList {
		return lw
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, plain{})
}
