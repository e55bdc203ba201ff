package garbage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"revtail/etcdstore"
)

// Config says what a Collector works on. Every field is needed but for those that say what they are without.
type Config struct {
	Store      etcdstore.Store
	Permit     func(context.Context) error // an error: the collector must do nothing now; nil: it always may
	Key        string                      // what the keys begin with by which replicas agree; outside of every resource's prefix
	Namespaces *Resource                   // whose objects are namespaces; one of this name is among those that are served
	Owners     bool                        // collect objects whose owners are gone
	Requests   *Requests                   // what DELETE requests have asked for
	Limit      int                         // how many objects are collected in an hour without one; zero: 100, and a tenth of a resource
	Removed    func(namespace string)      // is called after each namespace that the collector removes; may be nil
	Logger     *slog.Logger
}

// Collector empties terminating namespaces and collects objects without owners. Any number of them may run on the same etcd.
type Collector struct {
	config     Config
	holder     string // of the leaders' keys
	namespaces *namespaces

	mu      sync.Mutex // guards the fields below
	served  []*Resource
	changed chan struct{} // closed and replaced when served changes
	owners  *owners       // nil: owners are not followed now
}

// New makes a collector of nothing: Serve says of what, Run runs it.
func New(config Config) *Collector {
	if config.Permit == nil {
		config.Permit = func(context.Context) error { return nil }
	}
	if config.Removed == nil {
		config.Removed = func(string) {}
	}
	return &Collector{
		config:     config,
		holder:     holderName(),
		namespaces: newNamespaces(config),
		changed:    make(chan struct{}),
	}
}

// Serve says which resources there are from now on. Owners of all other kinds count as existing, and what else stands in a
// namespace stays there. The slice must not change afterwards.
func (c *Collector) Serve(resources []*Resource) {
	c.namespaces.serve(resources)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = resources
	close(c.changed)
	c.changed = make(chan struct{})
}

// RemoveEmpty removes a namespace at once, if it is at the revision given and nothing stands in it; false: something does.
// The errors are those of the store.
func (c *Collector) RemoveEmpty(ctx context.Context, namespace *Object) (bool, error) {
	return c.namespaces.removeEmpty(ctx, namespace)
}

// Owns reports whether an object has dependents, as far as the caches know.
func (c *Collector) Owns(resource, namespace, name string) bool {
	owners := c.following()
	return owners != nil && owners.graph.owns(resource, namespace, name)
}

// Stopped says why objects without owners are not collected; nil: they are.
func (c *Collector) Stopped() *Stop {
	owners := c.following()
	if owners == nil {
		return nil
	}
	return owners.limiter.stop()
}

func (c *Collector) following() *owners {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owners
}

// Run works until ctx ends; when it returns, all that it started has ended. What goes wrong is logged and tried again. The
// caches of what is served must have been filled. Run must be called once.
func (c *Collector) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		emptying := &duty[string]{queue: c.namespaces.queue, election: c.election("namespaces"), width: namespaceWidth,
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

// election is of its own for each duty: a replica may have one of them only.
func (c *Collector) election(duty string) *election {
	return &election{store: c.config.Store, permit: c.config.Permit, key: c.config.Key + "/" + duty, holder: c.holder, log: c.config.Logger}
}

// follow follows one set of resources until there is another one. The graph of owners is made anew for each: what a reference
// means hangs on which kinds there are.
func (c *Collector) follow(ctx context.Context, resources []*Resource, changed <-chan struct{}) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &follower{namespaces: c.namespaces, log: c.config.Logger}
	if c.config.Owners {
		f.owners = newOwners(c.config, resources)
		c.mu.Lock()
		c.owners = f.owners
		c.mu.Unlock()
		collecting := &duty[place]{queue: f.owners.queue, election: c.election("garbage"), width: ownerWidth,
			step: f.owners.step, begin: c.config.Requests.prune, log: c.config.Logger}
		running.Go(func() { collecting.run(ctx) })
		running.Go(func() {
			for ctx.Err() == nil {
				pause(ctx, recheckStop)
				f.owners.recheck(ctx)
			}
		})
	}
	for _, r := range resources {
		running.Go(func() { f.follow(ctx, r) })
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// follower brings what happens to those who have to know.
type follower struct {
	namespaces *namespaces
	owners     *owners // nil: not collected
	log        *slog.Logger
}

// follow watches a resource until ctx ends.
func (f *follower) follow(ctx context.Context, r *Resource) {
	for ctx.Err() == nil {
		err := f.watch(ctx, r)
		if ctx.Err() != nil {
			return
		}
		f.log.Debug("reading a resource anew", "resource", r.Name, "error", err)
		pause(ctx, time.Second)
	}
}

// watch follows a resource from its state on, until that fails.
func (f *follower) watch(ctx context.Context, r *Resource) error {
	w, err := r.Objects.Watch()
	if err != nil {
		return err
	}
	defer w.Close()
	if f.owners != nil {
		f.owners.restart(r)
	}
	for {
		step, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for _, change := range step.Changes {
			at := place{r, change.Object.Namespace, change.Object.Name}
			f.namespaces.see(at, change)
			if f.owners != nil {
				f.owners.see(ctx, at, change)
			}
		}
		if step.Synced && f.owners != nil {
			f.owners.review(ctx, r)
		}
	}
}
