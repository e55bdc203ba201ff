package clients

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"revtail/gateway/gatewaytest"
)

// TestInformerLoad checks that informers of every kind of client get the whole history of each object, in order, under a load of creates,
// updates and deletes by several writers, and end with the server's state. Those that start during the load get the current state, and
// everything after that.
func TestInformerLoad(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	var early, late []*informer
	for kind := range readers {
		early = append(early, startInformer(t, gw, kind))
	}
	l := startLoad(t, newClient(t, gw))
	gatewaytest.Until(t, "half of the load", func() bool { return l.written.Load() >= writers*writesEach/2 })
	for kind := range readers {
		late = append(late, startInformer(t, gw, kind))
	}
	history := l.wait()

	for _, i := range slices.Concat(early, late) {
		i.checkStore(t, gw)
		i.requests.expectState(t, "configmaps", 1)
	}
	for _, i := range early {
		if diff := cmp.Diff(history, i.histories()); diff != "" {
			t.Errorf("the %s informer's handlers (-written +received):\n%s", i.kind, diff)
		}
	}
	for _, i := range late {
		told := i.histories()
		for name := range history {
			if !continues(history[name], told[name]) {
				t.Errorf("the late %s informer's handlers got %q, written was %q", i.kind, told[name], history[name])
			}
		}
	}
}

// histories returns the calls of handlers, by object.
func (i *informer) histories() map[string][]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make(map[string][]string)
	for _, call := range i.told {
		name := strings.Fields(call)[1]
		out[name] = append(out[name], call)
	}
	return out
}

// continues reports whether an informer got an object's state at some time, and then the rest of its history.
func continues(history, told []string) bool {
	switch rest := len(history) - len(told); {
	case len(told) == 0:
		return strings.HasPrefix(history[len(history)-1], "delete ")
	case rest < 0:
		return false
	default:
		written := strings.Fields(history[rest])
		state := "add " + written[1] + " " + written[len(written)-1]
		return written[0] != "delete" && told[0] == state && slices.Equal(told[1:], history[rest+1:])
	}
}

const (
	writers    = 4
	writesEach = 300
	mapsEach   = 12 // objects that only one writer changes, so that it knows their history
)

// load is several concurrent writers.
type load struct {
	maps    typedcorev1.ConfigMapInterface
	written atomic.Int64
	running sync.WaitGroup

	mu      sync.Mutex          // guards the field below
	history map[string][]string // by object: the expected calls of handlers
}

func startLoad(t *testing.T, c *client) *load {
	t.Helper()
	l := &load{maps: c.typed(t).CoreV1().ConfigMaps(namespace), history: make(map[string][]string)}
	seed := rand.Uint64()
	t.Logf("the load's seed is %d", seed)
	for writer := range uint64(writers) {
		l.running.Go(func() {
			if err := l.write(t.Context(), writer, rand.New(rand.NewPCG(seed, writer))); err != nil {
				t.Errorf("writer %d: %v", writer, err)
			}
		})
	}
	t.Cleanup(l.running.Wait)
	return l
}

// wait waits for the end of the load and returns the histories.
func (l *load) wait() map[string][]string {
	l.running.Wait()
	return l.history
}

// write makes random changes to objects of its own. Each value is written once.
func (l *load) write(ctx context.Context, writer uint64, random *rand.Rand) error {
	objects := make([]*corev1.ConfigMap, mapsEach)
	for n := range writesEach {
		at := random.IntN(mapsEach)
		name, next := fmt.Sprintf("map-%d-%d", writer, at), fmt.Sprint(n)
		object, call, err := l.change(ctx, random, objects[at], name, next)
		if err != nil {
			return fmt.Errorf("%s: %w", call, err)
		}
		objects[at] = object
		l.mu.Lock()
		l.history[name] = append(l.history[name], call)
		l.mu.Unlock()
		l.written.Add(1)
	}
	return nil
}

// change creates an absent object, and otherwise updates, patches or deletes it. It returns the new state, and the expected calls of
// handlers.
func (l *load) change(ctx context.Context, random *rand.Rand, object *corev1.ConfigMap, name, next string) (*corev1.ConfigMap, string, error) {
	if object == nil {
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		setValue(object, next)
		created, err := l.maps.Create(ctx, object, metav1.CreateOptions{})
		return created, "add " + name + " " + next, err
	}
	before := value(object)
	switch random.IntN(4) {
	case 0:
		return nil, "delete " + name + " " + before, l.maps.Delete(ctx, name, metav1.DeleteOptions{})
	case 1:
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"value":"%s"}},"data":{"value":"%s"}}`, next, next)
		patched, err := l.maps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return patched, "update " + name + " " + before + " " + next, err
	default:
		setValue(object, next)
		updated, err := l.maps.Update(ctx, object, metav1.UpdateOptions{})
		return updated, "update " + name + " " + before + " " + next, err
	}
}

func setValue(object *corev1.ConfigMap, value string) {
	object.Annotations = map[string]string{"value": value}
	object.Data = map[string]string{"value": value}
}
