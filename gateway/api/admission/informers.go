package admission

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"revtail/gateway/api/catalog"
)

// informerFactory is the informers.SharedInformerFactory of plugins. Its informers read the watch caches of the gateway. It has only the methods
// that plugins call: the embedded interfaces are nil.
type informerFactory struct {
	informers.SharedInformerFactory
	life    context.Context
	catalog *catalog.Catalog

	mu      sync.Mutex // guards the fields below
	made    map[schema.GroupVersionResource]cache.SharedIndexInformer
	running sync.WaitGroup
}

func newInformerFactory(life context.Context, c *catalog.Catalog) *informerFactory {
	return &informerFactory{life: life, catalog: c, made: make(map[schema.GroupVersionResource]cache.SharedIndexInformer)}
}

// informer returns the informer of a built-in kind, which it starts if it is new. of is an object of the kind.
func (f *informerFactory) informer(gv schema.GroupVersion, plural string, of runtime.Object) cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	resource := gv.WithResource(plural)
	if known, ok := f.made[resource]; ok {
		return known
	}
	made := cache.NewSharedIndexInformer(f.source(resource, of), of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	f.made[resource] = made
	f.running.Go(func() { made.RunWithContext(f.life) })
	return made
}

func (f *informerFactory) source(kind schema.GroupVersionResource, of runtime.Object) *source {
	return &source{catalog: f.catalog, resource: kind, make: func() runtime.Object { return of.DeepCopyObject() }}
}

// waitSynced waits until all informers have the objects of their caches.
func (f *informerFactory) waitSynced(ctx context.Context) bool {
	f.mu.Lock()
	made := slices.Collect(maps.Values(f.made))
	f.mu.Unlock()
	for _, informer := range made {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return false
		}
	}
	return true
}

// wait waits until all informers have ended.
func (f *informerFactory) wait() { f.running.Wait() }

// ForResource is for the parameters of policies. Those of all kinds are read without their Go types.
func (*informerFactory) ForResource(schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, errNotTyped
}

// Start does nothing, because informers are started when they are made.
func (*informerFactory) Start(<-chan struct{}) {}

// informerOf is the informer of a kind, with the types that client-go generates for it.
type informerOf[Typed, Lister any] struct {
	informer cache.SharedIndexInformer
	typed    Typed
	lister   Lister
}

func (i informerOf[_, _]) Informer() cache.SharedIndexInformer { return i.informer }
func (i informerOf[Typed, _]) TypedInformer() Typed            { return i.typed }
func (i informerOf[_, Lister]) Lister() Lister                 { return i.lister }
