package gateway

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/mount"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
)

// catalogConfig is what a catalog needs.
type catalogConfig struct {
	store  etcdstore.Store // of clients
	own    etcdstore.Store // for writes without a client's request
	prefix string          // of resources in etcd
	claim  *claim.Claim
	logger *slog.Logger
	mounts []mount.Mount

	// changed is called with each new snapshot, one at a time.
	changed func(*snapshot)
	// deleteObjects deletes every object of a resource, which need not be served, and returns how many there were.
	deleteObjects func(ctx context.Context, res *resource.Resource) (found int, err error)
}

// catalog knows which resources are served: built-in kinds, mounts, and what CustomResourceDefinitions define.
type catalog struct {
	catalogConfig
	builtin []*resource.Resource // served always
	serving atomic.Pointer[snapshot]
	defined chan struct{} // closed when the resources that were defined before the start are served
	mounted *mounts

	mu           sync.Mutex // guards resourceSets, and that serving shows them
	resourceSets resourceSets
}

// snapshot is everything that a catalog serves at one moment. It is immutable: a change installs a new one.
type snapshot struct {
	registry  *resource.Registry
	caches    map[*resource.Resource]*runningCache
	documents *documents
	replaced  chan struct{} // closed when a newer snapshot is installed
}

// resourceSet is what a mount or a CustomResourceDefinition defines: resources that are served beside the built-in ones, with their caches.
type resourceSet struct {
	resources []*resource.Resource
	caches    []*runningCache
}

type resourceSets struct{ mounts, definitions []resourceSet }

// newCatalog returns a catalog that serves the built-in kinds and the mounts. The error says what is wrong with a mount.
func newCatalog(config catalogConfig) (*catalog, error) {
	c := &catalog{catalogConfig: config, builtin: append(resource.Builtin(), customresource.Kind()), defined: make(chan struct{})}
	if err := mount.Check(config.mounts, config.prefix, c.builtin); err != nil {
		return nil, err
	}
	caches := make(map[*resource.Resource]*runningCache)
	for _, res := range c.builtin {
		caches[res] = c.newCache(res)
	}
	c.mounted = newMounts(c, config.mounts)
	c.resourceSets.mounts = resourceSetsOf(c.mounted.held)
	c.install(caches, nil)
	return c, nil
}

// run fills the caches, keeps them up to date and follows the CustomResourceDefinitions until ctx ends. When it returns, all that it
// started has ended. It is called once.
func (c *catalog) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, cache := range c.current().caches {
		cache.start(ctx, &running)
	}
	c.mounted.begin(ctx, &running) // the caches of mounts have been started
	definitions := &definitions{catalog: c, cache: c.current().caches[customresource.Kind()].Cache, running: &running}
	running.Go(func() { definitions.run(ctx) })
	<-ctx.Done()
	c.mounted.wait()
}

// waitReady waits until every cache has been filled and every definition is served, or returns ctx's error.
func (c *catalog) waitReady(ctx context.Context) error {
	for _, cache := range c.current().caches {
		select {
		case <-cache.Filled():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-c.defined:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current is the snapshot that is served at this moment.
func (c *catalog) current() *snapshot { return c.serving.Load() }

// complete reports whether every resource is served that was defined before the start.
func (c *catalog) complete() bool {
	select {
	case <-c.defined:
		return true
	default:
		return false
	}
}

// replace changes the resourceSets and installs a snapshot with them. Their caches must have been filled.
func (c *catalog) replace(change func(*resourceSets)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.resourceSets)
	before := c.current()
	caches := make(map[*resource.Resource]*runningCache)
	for _, res := range c.builtin {
		caches[res] = before.caches[res]
	}
	c.install(caches, before)
}

// install makes a snapshot of the caches of the built-in kinds and the resourceSets current. before is nil at the start.
func (c *catalog) install(caches map[*resource.Resource]*runningCache, before *snapshot) {
	all := slices.Clone(c.builtin)
	for _, src := range slices.Concat(c.resourceSets.mounts, c.resourceSets.definitions) {
		all = append(all, src.resources...)
		for i, res := range src.resources {
			caches[res] = src.caches[i]
		}
	}
	next := &snapshot{registry: resource.NewRegistry(all), caches: caches, replaced: make(chan struct{})}
	if before == nil {
		next.documents = newDocuments(next.registry, nil)
		c.serving.Store(next)
	} else {
		next.documents = newDocuments(next.registry, before.documents)
		c.serving.Store(next)
		close(before.replaced)
	}
	if c.changed != nil {
		c.changed(next)
	}
}

// reservedNames are the resources whose names no definition can have.
func (c *catalog) reservedNames() []*resource.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.builtin)
	for _, src := range c.resourceSets.mounts {
		all = append(all, src.resources...)
	}
	return all
}
