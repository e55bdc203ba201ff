package admission

import (
	"context"
	"sync/atomic"

	apiserver "k8s.io/apiserver/pkg/admission"

	"revtail/gateway/watchcache"
)

// plugin is an admission plugin of kube-apiserver.
type plugin struct {
	kind    string // the plural of the objects that configure it
	make    func() (apiserver.Interface, error)
	cache   *watchcache.Cache // of these objects
	filled  atomic.Bool       // the cache has been
	handler apiserver.Interface
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
