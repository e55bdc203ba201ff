package informer

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

// Factory is the informers.SharedInformerFactory of plugins. Its informers read the watch caches of the gateway. It has only the methods
// that plugins call: the embedded interfaces are nil.
type Factory struct {
	informers.SharedInformerFactory
	life    context.Context
	catalog *catalog.Catalog

	mu      sync.Mutex // guards the fields below
	made    map[schema.GroupVersionResource]cache.SharedIndexInformer
	running sync.WaitGroup
}

// NewFactory returns the factory of informers that end with life.
func NewFactory(life context.Context, c *catalog.Catalog) *Factory {
	return &Factory{life: life, catalog: c, made: make(map[schema.GroupVersionResource]cache.SharedIndexInformer)}
}

// informer returns the informer of a built-in kind, which it starts if it is new. of is an object of the kind.
func (f *Factory) informer(gv schema.GroupVersion, plural string, of runtime.Object) cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	resource := gv.WithResource(plural)
	if known, ok := f.made[resource]; ok {
		return known
	}
	made := cache.NewSharedIndexInformer(f.Source(resource, of), of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	f.made[resource] = made
	f.running.Go(func() { made.RunWithContext(f.life) })
	return made
}

// Source returns the source of the objects of a kind. of is one of them.
func (f *Factory) Source(kind schema.GroupVersionResource, of runtime.Object) *Source {
	return &Source{Catalog: f.catalog, Resource: kind, Make: func() runtime.Object { return of.DeepCopyObject() }}
}

// WaitSynced waits until all informers have the objects of their caches.
func (f *Factory) WaitSynced(ctx context.Context) bool {
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

// Wait waits until all informers have ended.
func (f *Factory) Wait() { f.running.Wait() }

// ForResource is for the parameters of policies. Those of all kinds are read without their Go types.
func (*Factory) ForResource(schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, errNotTyped
}

// Start does nothing, because informers are started when they are made.
func (*Factory) Start(<-chan struct{}) {}

// informerOf is the informer of a kind, with the types that client-go generates for it.
type informerOf[Typed, Lister any] struct {
	informer cache.SharedIndexInformer
	typed    Typed
	lister   Lister
}

func (i informerOf[_, _]) Informer() cache.SharedIndexInformer { return i.informer }
func (i informerOf[Typed, _]) TypedInformer() Typed            { return i.typed }
func (i informerOf[_, Lister]) Lister() Lister                 { return i.lister }
