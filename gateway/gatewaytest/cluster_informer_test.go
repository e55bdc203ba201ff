package gatewaytest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/gatewaytest"
)

// TestClusterInformer checks that informers of client-go may move between a kube-apiserver and a gateway at the resourceVersion of their last
// event: under a load, each of their watches is cut and goes on at the other server. They need no second list, and their handlers get each change of etcd once.
func TestClusterInformer(t *testing.T) {
	t.Parallel()
	c := startLoaded(t)
	for i := range 10 {
		c.admin.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprintf("before-%d", i), ""))
	}
	var informers []*movingInformer
	for first, mediaType := range []string{"application/json", "application/vnd.kubernetes.protobuf,application/json"} {
		informers = append(informers, c.startInformer(t, first, mediaType))
	}
	c.startLoad(t)
	const handovers = 30
	for _, i := range informers {
		gatewaytest.Until(t, i.who+" at the other server", func() bool { return i.watches.Load() > handovers })
	}
	c.endLoad()
	history := c.history(t)
	for _, i := range informers {
		i.compare(t, i.who, history)
		i.compareStore(t, c)
		if lists := i.lists.Load(); lists != 1 {
			t.Errorf("%s has asked for the state %d times", i.who, lists)
		}
	}
}

// movingInformer is an informer that has each watch from another server than the one before.
type movingInformer struct {
	record
	who            string
	store          cache.Store
	lists, watches atomic.Int64 // a watch that begins with the state is a list
}

// startInformer starts an informer, which has its state from the kube-apiserver (first is zero) or from the gateway, and waits until it has it.
func (c *loadedCluster) startInformer(t *testing.T, first int, mediaType string) *movingInformer {
	t.Helper()
	i := &movingInformer{who: fmt.Sprintf("the informer with %s that begins with server %d", mediaType, first)}
	var servers []kubernetes.Interface
	for _, config := range []*rest.Config{
		{Host: c.kube.URL, BearerToken: c.kube.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.kube.CA}},
		{Host: c.gateway.URL},
	} {
		config.QPS, config.AcceptContentTypes = -1, mediaType
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, client)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			i.lists.Add(1)
			return servers[first].CoreV1().ConfigMaps("default").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			turn := i.watches.Add(1) - 1
			if o.SendInitialEvents != nil {
				i.lists.Add(1)
			}
			w, err := servers[(first+int(turn))%2].CoreV1().ConfigMaps("default").Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return cutWatch(w), nil
		},
	}
	var controller cache.Controller
	i.store, controller = cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, Handler: i})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	gatewaytest.Until(t, i.who+" with a state", controller.HasSynced)
	return i
}

// cutWatch returns a watch that ends after some events.
func cutWatch(w watch.Interface) watch.Interface {
	const cut = 25
	events := make(chan watch.Event)
	out := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		for range cut {
			select {
			case event, ok := <-w.ResultChan():
				if !ok {
					return
				}
				select {
				case events <- event:
				case <-out.StopChan():
					return
				}
			case <-out.StopChan():
				return
			}
		}
	}()
	return out
}

// OnAdd implements cache.ResourceEventHandler.
func (i *movingInformer) OnAdd(object any, _ bool) { i.tell(false, object) }

// OnUpdate implements cache.ResourceEventHandler.
func (i *movingInformer) OnUpdate(_, object any) { i.tell(false, object) }

// OnDelete implements cache.ResourceEventHandler.
func (i *movingInformer) OnDelete(object any) { i.tell(true, object) }

func (i *movingInformer) tell(deleted bool, object any) {
	o, ok := object.(*corev1.ConfigMap)
	if !ok {
		i.add(fmt.Sprintf("%T", object)) // such as a DeletedFinalStateUnknown, which says that an event was lost
		return
	}
	if strings.HasPrefix(o.Name, "load-") { // the first objects are a state, in no order
		i.add(told(deleted, o.Name, o.ResourceVersion))
	}
}

// compareStore compares the objects of the informer with those of the kube-apiserver.
func (i *movingInformer) compareStore(t *testing.T, c *loadedCluster) {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: c.kube.URL, BearerToken: c.kube.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.kube.CA}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored := len(i.store.List()); stored != len(list.Items) || stored == 0 {
		t.Errorf("%s has %d objects, and the kube-apiserver %d", i.who, stored, len(list.Items))
	}
	for _, want := range list.Items {
		got, _, err := i.store.GetByKey("default/" + want.Name)
		if err != nil || got == nil {
			t.Errorf("%s has no %s: %v", i.who, want.Name, err)
			continue
		}
		object := got.(*corev1.ConfigMap).DeepCopy()
		object.TypeMeta = metav1.TypeMeta{} // a list of the kube-apiserver leaves it out
		if !reflect.DeepEqual(object, &want) {
			t.Errorf("%s (-kube-apiserver +informer):\n%s", i.who, cmp.Diff(&want, object))
		}
	}
}
