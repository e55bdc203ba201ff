package admission

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"

	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// plugin is an admission plugin of kube-apiserver.
type plugin struct {
	name    string
	kind    schema.GroupVersionResource // of the objects that configure it; empty: it decides without any
	inside  bool                        // such an object configures what happens in its own namespace
	of      func(resource.Ref) bool     // reports whether the plugin looks at a write; nil: at every one
	make    func() (apiserver.Interface, error)
	cache   *watchcache.Cache // of kind
	filled  atomic.Bool       // the cache has been
	handler apiserver.Interface
}

// active reports whether the plugin decides about a write. An error says that it is not known yet which objects configure it.
func (p *plugin) active(ctx context.Context, ref resource.Ref) (bool, error) {
	if p.of != nil && !p.of(ref) {
		return false, nil
	}
	if p.cache == nil {
		return true, nil
	}
	if err := p.waitFilled(ctx); err != nil {
		return false, err
	}
	return !p.cache.Empty() && (!p.inside || p.configures(ctx, ref.Scope.Namespace)), nil
}

// configures reports whether an object configures the plugin in a namespace.
func (p *plugin) configures(ctx context.Context, namespace string) bool {
	list, err := p.cache.List(ctx, watchcache.ListQuery{Namespace: namespace})
	if err != nil {
		return true // the plugin finds out
	}
	for range list.Objects {
		return true
	}
	return false
}

// waitFilled waits until it is known which objects configure the plugin. Once it is, the cache answers, whether or not etcd does.
func (p *plugin) waitFilled(ctx context.Context) error {
	if p.filled.Load() {
		return nil
	}
	err := p.cache.WaitUntil(ctx, 0)
	p.filled.Store(err == nil)
	return err
}
