package informer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// indexer lets the listers of client-go read a watch cache: objects of which plugins read few, each time they decide, need no informer, which
// would keep all of them a second time. It has the methods that listers call.
type indexer struct {
	cache.Indexer
	source *Source
}

// List implements cache.Store.
func (i indexer) List() []any {
	all, _ := i.source.all() // without an error in the interface; the cache is filled, because the plugin is active
	return all
}

// Index implements cache.Indexer: the only index is that of namespaces.
func (i indexer) Index(_ string, in any) ([]any, error) {
	own := *i.source
	own.Namespace = in.(metav1.Object).GetNamespace() // listers pass an ObjectMeta
	return own.all()
}

// GetByKey implements cache.Store. A key is namespace/name, or the name of a cluster-wide object.
func (i indexer) GetByKey(key string) (any, bool, error) {
	c, err := i.source.Cache()
	if err != nil {
		return nil, false, err
	}
	object, err := c.Get(context.Background(), key, 0) //nolint:forbidigo // of memory
	if err != nil || object == nil || !object.Shown() {
		return nil, false, err
	}
	out, err := i.source.Decode(object)
	return out, err == nil, err
}

// filled is the informer of an indexer.
type filled struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedInformer.
func (filled) HasSynced() bool { return true }

// listed returns an informer whose lister reads a watch cache. of is an object of the kind.
func listed[Typed, Lister any](f *Factory, kind schema.GroupVersionResource, of runtime.Object, lister func(cache.Indexer) Lister) (out informerOf[Typed, Lister]) {
	out.informer = filled{}
	out.lister = lister(indexer{source: f.Source(kind, of)})
	return out
}
