package garbage

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
)

// Config says what a Collector works on. Every field is needed, unless it says what its zero value means.
type Config struct {
	Store      etcdstore.Store
	Permit     func(context.Context) error // an error: the collector must do nothing now
	Key        string                      // prefix of the keys of the elections; outside of every resource's prefix
	Namespaces *Resource                   // the resource of the Namespaces; one of this name is among the served resources
	Owners     bool                        // collect objects whose owners are gone
	Requests   *Requests                   // the DELETE requests for owners
	Limit      int                         // objects collected in an hour without a DELETE request; zero: 100, and a tenth of a resource
	Removed    func(namespace string)      // called after the collector has removed a namespace
	Logger     *slog.Logger
}

// Collector empties terminating namespaces and collects objects without owners. Any number of collectors may run on one etcd.
type Collector struct {
	config     Config
	holder     string // of the leaders' keys
	namespaces *namespaces

	mu      sync.Mutex // guards the fields below
	served  []*Resource
	changed chan struct{} // closed and replaced when served changes
	owners  *owners       // nil: owners are not followed now
}

// New returns a collector, which collects nothing before Serve and Run are called.
func New(config Config) *Collector {
	c := &Collector{config: config, holder: holderName(), changed: make(chan struct{})}
	c.namespaces = &namespaces{Config: config, content: c.namespaced, queue: newQueue[string](), sweeps: make(map[string]*sweep)}
	return c
}

// Serve sets the resources that exist. An owner of another kind counts as existing, and other keys in a namespace stay. The caller must
// not change the slice afterwards.
func (c *Collector) Serve(resources []*Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = resources
	close(c.changed)
	c.changed = make(chan struct{})
}

// namespaced returns the served resources whose objects are in namespaces.
func (c *Collector) namespaced() []*Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.served), func(r *Resource) bool { return !r.Namespaced })
}

// Owns reports whether an object has dependents, as far as the caches know.
func (c *Collector) Owns(resource, namespace, name string) bool {
	owners := c.following()
	return owners != nil && owners.graph.owns(resource, namespace, name)
}

// Stopped returns why objects without owners are not collected; nil: they are.
func (c *Collector) Stopped() *Stop {
	if owners := c.following(); owners != nil {
		return owners.limiter.stop()
	}
	return nil
}

func (c *Collector) following() *owners {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owners
}

// Run works until ctx ends; when it returns, all its goroutines have ended. It logs errors and tries again. The caches of the served
// resources must be filled. Run must be called once.
func (c *Collector) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		emptying := &leaderWork[string]{queue: c.namespaces.queue, election: c.election("namespaces"), width: namespaceWidth,
			step: c.namespaces.step, log: c.config.Logger}
		emptying.run(ctx)
	})
	for ctx.Err() == nil {
		c.mu.Lock()
		resources, changed := c.served, c.changed
		c.mu.Unlock()
		c.follow(ctx, resources, changed)
	}
}

// election returns the election for one kind of work: a replica may do only one of them.
func (c *Collector) election(work string) *election {
	return &election{store: c.config.Store, permit: c.config.Permit, key: c.config.Key + "/" + work, holder: c.holder, log: c.config.Logger}
}

// follow watches a set of resources until Serve sets another one. Each set has a graph of its own, because the meaning of an
// ownerReference depends on the kinds that exist.
func (c *Collector) follow(ctx context.Context, resources []*Resource, changed <-chan struct{}) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var owners *owners
	if c.config.Owners {
		owners = newOwners(c.config, resources)
		c.mu.Lock()
		c.owners = owners
		c.mu.Unlock()
		collecting := &leaderWork[objectKey]{queue: owners.queue, election: c.election("garbage"), width: ownerWidth,
			step: owners.step, begin: c.config.Requests.prune, log: c.config.Logger}
		running.Go(func() { collecting.run(ctx) })
		running.Go(func() { owners.recheck(ctx) })
	}
	for _, r := range resources {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := c.watch(ctx, r, owners); ctx.Err() == nil {
					c.config.Logger.Debug("reading a resource anew", "resource", r.Name, "error", err)
					pause(ctx, time.Second)
				}
			}
		})
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// watch follows the initial state and the changes of a resource until the watch fails. Without owners it follows namespaces only.
func (c *Collector) watch(ctx context.Context, r *Resource, owners *owners) error {
	begun := false
	return r.Objects.Watch(ctx, func(changes []Change, synced bool) {
		if !begun && owners != nil {
			owners.forget(r)
		}
		begun = true
		for _, change := range changes {
			key := objectKey{r, change.Object.Namespace, change.Object.Name}
			c.namespaces.observe(key, change)
			if owners != nil {
				owners.observe(ctx, key, change)
			}
		}
		if synced && owners != nil {
			owners.enqueueOrphans(ctx, owners.graph.synced(r)...)
		}
	})
}
