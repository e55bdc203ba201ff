package admission

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"revtail/gateway/api/catalog"
	"revtail/gateway/resource"
)

// Config configures a Chain.
type Config struct {
	Catalog    *catalog.Catalog
	Authorizer authorizer.UnconditionalAuthorizer // answers the variable authorizer of expressions
	Logger     *slog.Logger
	Controlled bool // kube-controller-manager runs, which makes the ServiceAccount default of each namespace
}

// Chain is the admission plugins of a gateway. A plugin starts with the first write that it looks at when there is an object that configures it, so
// that a gateway without any pays for nothing but a look at a few empty caches. A nil Chain admits everything.
type Chain struct {
	Config
	plugins []*plugin // in the order of kube-apiserver
	own     *surroundings

	mu      sync.Mutex // guards the start of plugins
	life    context.Context
	started chan struct{} // closed by Run
}

// New returns a chain whose plugins may start when Run runs.
func New(config Config) *Chain {
	c := &Chain{Config: config, started: make(chan struct{})}
	c.plugins = c.newPlugins(config.Catalog.Current())
	return c
}

// group is that of the kinds that configure policies and webhooks.
var group = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}

// Run lets plugins start, and ends them when ctx ends. The plugin of quotas writes what is used of them by statuses.
func (c *Chain) Run(ctx context.Context, statuses Statuses) {
	c.life, c.own = ctx, newSurroundings(ctx, c.Config, statuses)
	close(c.started)
	<-ctx.Done()
	c.own.informers.Wait()
}

// Begin returns the review of a write of a client, whose user is in the context; nil: there is nothing that decides about writes, or no client
// has sent it. An error says that it is not known yet what there is.
func (c *Chain) Begin(ctx context.Context, ref resource.Ref) (*Review, error) {
	if c == nil {
		return nil, nil
	}
	var active []apiserver.Interface
	for _, p := range c.plugins {
		on, err := p.active(ctx, ref)
		if err != nil {
			return nil, err
		}
		if !on {
			continue
		}
		if clientOf(ctx) == nil {
			return nil, nil
		}
		handler, err := c.start(ctx, p)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("admission: %w", err))
		}
		active = append(active, handler)
	}
	if active == nil {
		return nil, nil
	}
	return newReview(ctx, c, ref, active), nil
}

// start returns the handler of a plugin, which it makes and starts if there is none.
func (c *Chain) start(ctx context.Context, p *plugin) (apiserver.Interface, error) {
	select {
	case <-c.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.handler != nil {
		return p.handler, nil
	}
	handler, err := p.make()
	if err != nil {
		return nil, err
	}
	if err = c.own.initialize(ctx, handler); err != nil {
		return nil, err
	}
	if p.cache != nil {
		c.Logger.Info("admission decides about writes", "because of", p.kind.Resource)
	}
	p.handler = handler
	return handler, nil
}
