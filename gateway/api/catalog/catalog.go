package catalog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	eventsv1 "k8s.io/api/events/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/discovery"
	"revtail/gateway/api/kinds"
	"revtail/gateway/api/migration"
	"revtail/gateway/api/mount"
	"revtail/gateway/api/openapi"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
)

// logReserve is what the logs of all caches have together beyond their shares: as much as the log of one large and busy resource.
const logReserve = 64 << 20

// Config configures a Catalog.
type Config struct {
	Store  etcdstore.Store // for the requests of clients
	Own    etcdstore.Store // for writes without a client's request
	Prefix string          // of the keys of resources
	Claim  *claim.Claim    // nil: the data is revtail's own
	Logger *slog.Logger
	Mounts []mount.Mount

	// Cluster says that a kube-apiserver stores the resources: they can be read only, and a cache is filled when somebody needs it.
	Cluster bool
	// File says that Store is that of a file: nothing is written, a cache is filled by the first request that needs it, and pages of lists need none.
	File bool
}

// Objects reads and writes the objects of the resources. storage.Store implements it.
type Objects interface {
	// Serve is called with each new snapshot, one call at a time.
	Serve(*Snapshot)
	// DeleteAll deletes all objects of a resource, which need not be served, and returns how many it found.
	DeleteAll(ctx context.Context, res *resource.Resource) (found int, err error)
}

// Catalog knows which resources are served: built-in kinds, mounts, and what CustomResourceDefinitions define.
type Catalog struct {
	Config
	builtin []*resource.Resource
	current atomic.Pointer[Snapshot]
	defined chan struct{} // closed when the resources that were defined before the start are served
	mounts  *mounts
	logs    *semaphore.Weighted
	objects Objects // nil before Run

	mu      sync.Mutex // guards sources, and that current has them
	sources sources
}

// Snapshot is an immutable snapshot of everything that a catalog serves. A change installs a new one.
type Snapshot struct {
	Registry  *resource.Registry
	Caches    map[*resource.Resource]*Cache
	Discovery discovery.Documents
	OpenAPI   openapi.Documents // the first request for one of them renders it
	replaced  chan struct{}     // closed when a newer snapshot is installed
}

// sources are the caches of a snapshot, by what defines their resources.
type sources struct {
	builtin, mounts, definitions []*Cache

	sameMounts context.Context    // ends when mounts is replaced; nil before Run
	remounted  context.CancelFunc // ends sameMounts
}

func (s *sources) setMounts(ctx context.Context, all []*Cache) {
	s.mounts = all
	if s.remounted != nil {
		s.remounted()
	}
	s.sameMounts, s.remounted = context.WithCancel(ctx)
}

// New returns a catalog of the built-in kinds and the mounts, whose caches are filled when Run runs. An error is that of a mount.
func New(config Config) (*Catalog, error) {
	builtin := kinds.Builtin
	if config.Cluster {
		builtin = kinds.InCluster
	}
	c := &Catalog{Config: config, builtin: append(builtin(), customresource.Kind()), defined: make(chan struct{}), logs: semaphore.NewWeighted(logReserve)}
	if err := mount.Check(config.Mounts, config.Prefix, c.builtin); err != nil {
		return nil, err
	}
	c.mounts = newMounts(c, config.Mounts)
	c.current.Store(&Snapshot{replaced: make(chan struct{})})
	c.replace(func(s *sources) {
		for _, res := range c.builtin {
			s.builtin = append(s.builtin, c.NewCache(res))
		}
		s.mounts = cachesOf(c.mounts.held)
	})
	return c, nil
}

// Run fills the caches, keeps them up to date and follows the CustomResourceDefinitions until ctx ends. When it returns, all its
// goroutines have ended. It is called once.
func (c *Catalog) Run(ctx context.Context, objects Objects) {
	c.objects = objects
	var running sync.WaitGroup
	defer running.Wait()
	for _, cache := range c.Current().Caches {
		cache.start(ctx, &running)
	}
	c.sources.setMounts(ctx, c.sources.mounts)
	c.mounts.begin(ctx, &running)
	definitions := &definitions{catalog: c, cache: c.Current().Caches[customresource.Kind()].Cache, running: &running}
	running.Go(func() { definitions.run(ctx) })
	events := migration.Events{
		Store: c.Own, Claim: c.Claim, Prefix: c.Prefix, Logger: c.Logger, Resource: c.Current().Registry.Lookup(eventsv1.GroupName, "v1", "events"),
	}
	running.Go(func() { events.Run(ctx) })
	<-ctx.Done()
	c.mounts.wait()
}

// WaitReady waits until every cache has been filled, except those that webhooks fill or nobody needs, and every definition is served, or returns ctx's error.
func (c *Catalog) WaitReady(ctx context.Context) error {
	for _, cache := range c.Current().Caches {
		if !cache.Wanted() {
			continue
		}
		if err := waitFor(ctx, cache.AsStored().Filled()); err != nil {
			return err
		}
	}
	return waitFor(ctx, c.defined)
}

// waitFor waits until a channel is closed or ctx ends.
func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Current returns the current snapshot.
func (c *Catalog) Current() *Snapshot { return c.current.Load() }

// Complete reports whether all resources that were defined before the start are served.
func (c *Catalog) Complete() bool { return isClosed(c.defined) }

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// replace changes the sources, and installs a snapshot with them. Their caches must be filled.
func (c *Catalog) replace(change func(*sources)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.sources)
	var all []*resource.Resource
	caches := make(map[*resource.Resource]*Cache)
	for _, cache := range slices.Concat(c.sources.builtin, c.sources.mounts, c.sources.definitions) {
		all = append(all, cache.resource)
		caches[cache.resource] = cache
	}
	before, next := c.Current(), &Snapshot{Registry: resource.NewRegistry(all), Caches: caches, replaced: make(chan struct{})}
	groups := resource.Groups(slices.Concat(next.Registry.All(), kinds.Virtual()))
	// The OpenAPI documents of the same resources are kept, so that the change of one of many definitions does not render them all.
	next.Discovery = discovery.New(groups)
	next.OpenAPI = openapi.New(groups, discovery.ProtocolVersion, before.OpenAPI.Documents)
	c.current.Store(next)
	close(before.replaced)
	if c.objects != nil {
		c.objects.Serve(next)
	}
}

// reservedNames returns the resources whose names no definition can have, and a context that ends when they change.
func (c *Catalog) reservedNames() ([]*resource.Resource, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.builtin)
	for _, cache := range c.sources.mounts {
		all = append(all, cache.resource)
	}
	return all, c.sources.sameMounts
}
