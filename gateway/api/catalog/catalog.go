package catalog

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

// Config is what a catalog needs.
type Config struct {
	Store  etcdstore.Store // of clients
	Own    etcdstore.Store // for writes without a client's request
	Prefix string          // of resources in etcd
	Claim  *claim.Claim
	Logger *slog.Logger
	Mounts []mount.Mount

	// Changed is called with each new snapshot, one at a time.
	Changed func(*Snapshot)
	// DeleteObjects deletes every object of a resource, which need not be served, and returns how many there were.
	DeleteObjects func(ctx context.Context, res *resource.Resource) (found int, err error)
}

// Catalog knows which resources are served: built-in kinds, mounts, and what CustomResourceDefinitions define.
type Catalog struct {
	Config
	builtin []*resource.Resource // served always
	serving atomic.Pointer[Snapshot]
	Defined chan struct{} // closed when the resources that were defined before the start are served
	mounted *mounts

	mu           sync.Mutex // guards resourceSets, and that serving shows them
	resourceSets sources
}

// Snapshot is everything that a catalog serves at one moment. It is immutable: a change installs a new one.
type Snapshot struct {
	Registry  *resource.Registry
	Caches    map[*resource.Resource]*Cache
	Documents *documents
	replaced  chan struct{} // closed when a newer snapshot is installed
}

// source is what a mount or a CustomResourceDefinition defines: resources that are served beside the built-in ones, with their caches.
type source struct {
	resources []*resource.Resource
	caches    []*Cache
}

type sources struct{ mounts, definitions []source }

// New returns a catalog that serves the built-in kinds and the mounts. The error says what is wrong with a mount.
func New(config Config) (*Catalog, error) {
	c := &Catalog{Config: config, builtin: append(resource.Builtin(), customresource.Kind()), Defined: make(chan struct{})}
	if err := mount.Check(config.Mounts, config.Prefix, c.builtin); err != nil {
		return nil, err
	}
	caches := make(map[*resource.Resource]*Cache)
	for _, res := range c.builtin {
		caches[res] = c.NewCache(res)
	}
	c.mounted = newMounts(c, config.Mounts)
	c.resourceSets.mounts = sourcesOf(c.mounted.held)
	c.install(caches, nil)
	return c, nil
}

// Run fills the caches, keeps them up to date and follows the CustomResourceDefinitions until ctx ends. When it returns, all that it
// started has ended. It is called once.
func (c *Catalog) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, cache := range c.Current().Caches {
		cache.start(ctx, &running)
	}
	c.mounted.begin(ctx, &running) // the caches of mounts have been started
	definitions := &definitions{catalog: c, cache: c.Current().Caches[customresource.Kind()].Cache, running: &running}
	running.Go(func() { definitions.run(ctx) })
	<-ctx.Done()
	c.mounted.wait()
}

// WaitReady waits until every cache has been filled and every definition is served, or returns ctx's error.
func (c *Catalog) WaitReady(ctx context.Context) error {
	for _, cache := range c.Current().Caches {
		select {
		case <-cache.Filled():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-c.Defined:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Current is the snapshot that is served at this moment.
func (c *Catalog) Current() *Snapshot { return c.serving.Load() }

// Complete reports whether every resource is served that was defined before the start.
func (c *Catalog) Complete() bool {
	select {
	case <-c.Defined:
		return true
	default:
		return false
	}
}

// replace changes the resourceSets and installs a snapshot with them. Their caches must have been filled.
func (c *Catalog) replace(change func(*sources)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.resourceSets)
	before := c.Current()
	caches := make(map[*resource.Resource]*Cache)
	for _, res := range c.builtin {
		caches[res] = before.Caches[res]
	}
	c.install(caches, before)
}

// install makes a snapshot of the caches of the built-in kinds and the resourceSets current. before is nil at the start.
func (c *Catalog) install(caches map[*resource.Resource]*Cache, before *Snapshot) {
	all := slices.Clone(c.builtin)
	for _, src := range slices.Concat(c.resourceSets.mounts, c.resourceSets.definitions) {
		all = append(all, src.resources...)
		for i, res := range src.resources {
			caches[res] = src.caches[i]
		}
	}
	next := &Snapshot{Registry: resource.NewRegistry(all), Caches: caches, replaced: make(chan struct{})}
	if before == nil {
		next.Documents = newDocuments(next.Registry, nil)
		c.serving.Store(next)
	} else {
		next.Documents = newDocuments(next.Registry, before.Documents)
		c.serving.Store(next)
		close(before.replaced)
	}
	if c.Changed != nil {
		c.Changed(next)
	}
}

// reservedNames are the resources whose names no definition can have.
func (c *Catalog) reservedNames() []*resource.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.builtin)
	for _, src := range c.resourceSets.mounts {
		all = append(all, src.resources...)
	}
	return all
}
