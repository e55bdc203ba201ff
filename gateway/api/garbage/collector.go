package garbage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"revtail/etcdstore"
)

// Config configures a Collector. Fields without a default are required.
type Config struct {
	Store      etcdstore.Store
	Permit     func(context.Context) error // an error: do nothing now; nil: always permitted
	Key        string                      // the prefix of the keys of elections, outside of the prefixes of resources
	Namespaces *Resource                   // the resource of namespaces, which must be served
	Owners     bool                        // collect objects whose owners are gone
	Requests   *Requests                   // the DELETE requests
	Limit      int                         // of objects collected per hour without a DELETE request; zero: 100, and a tenth of a resource
	Removed    func(namespace string)      // called after the removal of a namespace; may be nil
	Logger     *slog.Logger
}

// Collector deletes the content of terminating namespaces, and objects without owners. Any number of them may run on the same etcd.
type Collector struct {
	config     Config
	holder     string // the identity of this replica in elections
	namespaces *namespaces

	mu      sync.Mutex // guards the fields below
	served  []*Resource
	changed chan struct{} // closed and replaced when served changes
	owners  *owners       // nil: not followed at present
}

// New returns a collector without resources. Call Serve and Run.
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

// Serve sets the resources. The collector takes owners of other kinds for existing, and does not delete objects of other kinds in a
// namespace. The slice must not change afterwards.
func (c *Collector) Serve(resources []*Resource) {
	c.namespaces.serve(resources)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = resources
	close(c.changed)
	c.changed = make(chan struct{})
}

// RemoveEmpty removes a namespace at once if it has the given revision and no content; false: it has content. The errors are those of
// the store.
func (c *Collector) RemoveEmpty(ctx context.Context, namespace *Object) (bool, error) {
	return c.namespaces.removeEmpty(ctx, namespace)
}

// Owns reports whether an object has dependents in the caches.
func (c *Collector) Owns(resource, namespace, name string) bool {
	owners := c.following()
	return owners != nil && owners.graph.owns(resource, namespace, name)
}

// Stopped returns why the collection of objects without owners has stopped; nil: it has not.
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

// Run works until ctx ends, and waits for its goroutines. It logs errors and tries again. The caches of the resources must be filled.
// Call Run once.
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

// election returns the election of one task. Each task has its own, so that two replicas can share the work.
func (c *Collector) election(task string) *election {
	return &election{store: c.config.Store, permit: c.config.Permit, key: c.config.Key + "/" + task, holder: c.holder, log: c.config.Logger}
}

// follow follows one set of resources until Serve sets another one. Each set has a new graph of owners, because the target of a reference
// depends on the kinds.
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
		collecting := &leaderWork[place]{queue: f.owners.queue, election: c.election("garbage"), width: ownerWidth,
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

// follower passes changes to namespaces and owners.
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
		f.log.Debug("reading a resource again", "resource", r.Name, "error", err)
		pause(ctx, time.Second)
	}
}

// watch follows a resource from its initial state until an error.
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
