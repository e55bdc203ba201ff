package admission

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	informerscorev1 "k8s.io/client-go/informers/core/v1"
	listerscorev1 "k8s.io/client-go/listers/core/v1"
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
	source := &source{catalog: f.catalog, resource: resource, make: func() runtime.Object { return of.DeepCopyObject() }}
	made := cache.NewSharedIndexInformer(source, of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	f.made[resource] = made
	f.running.Go(func() { made.RunWithContext(f.life) })
	return made
}

// wait waits until all informers have ended.
func (f *informerFactory) wait() { f.running.Wait() }

// ForResource is for the parameters of policies. Those of all kinds are read without their Go types.
func (*informerFactory) ForResource(schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, errNotTyped
}

// Start does nothing, because informers are started when they are made.
func (*informerFactory) Start(<-chan struct{}) {}

func (f *informerFactory) Core() core.Interface { return coreGroup{factory: f} }

type coreGroup struct {
	core.Interface
	factory *informerFactory
}

func (g coreGroup) V1() informerscorev1.Interface { return coreVersion{factory: g.factory} }

type coreVersion struct {
	informerscorev1.Interface
	factory *informerFactory
}

func (v coreVersion) Namespaces() informerscorev1.TypedNamespaceInformer {
	made := v.factory.informer(corev1.SchemeGroupVersion, "namespaces", &corev1.Namespace{})
	return informerOf[informerscorev1.NamespaceIndexInformer, listerscorev1.NamespaceLister]{
		made, cache.NewTypedSharedIndexInformer[*corev1.Namespace](made), listerscorev1.NewNamespaceLister(made.GetIndexer())}
}

// informerOf is the informer of a kind, with the types that client-go generates for it.
type informerOf[Typed, Lister any] struct {
	informer cache.SharedIndexInformer
	typed    Typed
	lister   Lister
}

func (i informerOf[_, _]) Informer() cache.SharedIndexInformer { return i.informer }
func (i informerOf[Typed, _]) TypedInformer() Typed            { return i.typed }
func (i informerOf[_, Lister]) Lister() Lister                 { return i.lister }
