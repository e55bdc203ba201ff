package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/metrics"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// served is what a server serves at one time. It does not change: when definitions change, another one takes its place.
type served struct {
	registry    *resource.Registry
	caches      map[*resource.Resource]*runningCache
	description *description
	replaced    chan struct{} // closed when another one has taken its place
}

// runningCache is the cache of a resource, with the means to stop it and what writes need.
type runningCache struct {
	*watchcache.Cache
	fields fieldManagers
	stop   context.CancelFunc // nil: not started
}

// newServed makes what is served after what was described by before, which is nil at the start.
func newServed(caches map[*resource.Resource]*runningCache, resources []*resource.Resource, before *description) *served {
	registry := resource.NewRegistry(resources)
	return &served{registry: registry, caches: caches, description: newDescription(registry, before), replaced: make(chan struct{})}
}

// offer is some resources that are served beside the built-in ones, with their caches.
type offer struct {
	resources []*resource.Resource
	caches    []*runningCache
}

// offers are all of them, by who brings them.
type offers struct {
	mu                  sync.Mutex // guards the fields below, and that they are what is served
	mounts, definitions []offer
}

// offer changes what is served beside the built-in resources. The caches must have been filled.
func (s *Server) offer(change func(*offers)) {
	s.offers.mu.Lock()
	defer s.offers.mu.Unlock()
	change(&s.offers)
	before := s.now()
	caches := make(map[*resource.Resource]*runningCache)
	for _, res := range s.builtin {
		if cache, ok := before.caches[res]; ok {
			caches[res] = cache
		}
	}
	s.serve(newServed(caches, s.offers.with(s.builtin, caches), before.description))
}

// with are the built-in resources and those that are offered, whose caches are added.
func (o *offers) with(builtin []*resource.Resource, caches map[*resource.Resource]*runningCache) []*resource.Resource {
	all := slices.Clone(builtin)
	for _, offered := range slices.Concat(o.mounts, o.definitions) {
		all = append(all, offered.resources...)
		for i, res := range offered.resources {
			caches[res] = offered.caches[i]
		}
	}
	return all
}

// taken are the resources whose names no definition can have.
func (s *Server) taken() []*resource.Resource {
	s.offers.mu.Lock()
	defer s.offers.mu.Unlock()
	all := slices.Clone(s.builtin)
	for _, offered := range s.offers.mounts {
		all = append(all, offered.resources...)
	}
	return all
}

// now is what is served at this moment.
func (s *Server) now() *served { return s.serving.Load() }

// eventGap: a burst of writes becomes one write to each watch. It is less than a flush of etcd to its disk takes.
const eventGap = 2 * time.Millisecond

// newCache makes the cache of a resource.
func (s *Server) newCache(res *resource.Resource) *runningCache {
	config := watchcache.Config{
		Store:  s.options.Store,
		Prefix: res.Prefix(s.options.Prefix),
		Decode: decoder(res, s.options.Prefix),
		Logger: s.options.Logger,
		Gap:    eventGap,
	}
	if res.Mount != nil {
		config.Path, config.Decode = res.Mount.Path, mountDecoder(res.Mount)
		config.Key = func(path string) string {
			scope, _ := res.Split(path) // what is shown has one
			key, _ := res.Mount.Key(scope)
			return key
		}
	}
	return &runningCache{fields: newFieldManagers(res), Cache: watchcache.New(config)}
}

// start runs a cache until ctx ends or its stop is called.
func (c *runningCache) start(ctx context.Context, running *sync.WaitGroup) {
	ctx, c.stop = context.WithCancel(ctx)
	running.Go(func() { _ = c.Run(ctx) }) // always nil
}

// decoder makes documents of what stands in etcd below a resource's prefix.
func decoder(res *resource.Resource, root string) func(etcdstore.KV) (encoding.Object, error) {
	prefix := res.Prefix(root)
	return func(kv etcdstore.KV) (encoding.Object, error) {
		scope, ok := res.Split(kv.Key[len(prefix):])
		if !ok {
			return encoding.Object{}, errMisplaced
		}
		id := encoding.Identity{APIVersion: res.APIVersion(), Kind: res.Kind, Namespace: scope.Namespace, Name: scope.Name}
		return encoding.Normalize(withDefaults(res, kv.Value), id, int64(kv.Modified))
	}
}

// withDefaults is a stored object as clients see it: with what the kind, or a schema that may be younger, says of fields that
// it does not have. Status is one of them, as it is not stored with the object at first.
func withDefaults(res *resource.Resource, value []byte) []byte {
	setDefaults := res.Defaults
	if res.Schema != nil && res.Schema.HasDefaults() {
		setDefaults = res.Schema.Defaults
	}
	if setDefaults == nil {
		return value
	}
	object, err := encoding.Unmarshal(value)
	if err != nil {
		return value // Normalize says what is wrong with it
	}
	setDefaults(object)
	completed, err := encoding.Marshal(object)
	if err != nil {
		return value
	}
	return completed
}

var errMisplaced = errors.New("the key has not the form that the resource's keys have")

// figures are those of all caches, for /metrics.
func (s *Server) figures() []metrics.Cache {
	now := s.now()
	out := make([]metrics.Cache, 0, len(now.caches))
	for _, res := range now.registry.All() {
		cache, ok := now.caches[res]
		if !ok {
			continue
		}
		out = append(out, figuresOf(res.QualifiedName(), cache.Stats()))
	}
	return append(out, s.keyCaches.figures()...)
}

func figuresOf(resource string, s watchcache.Stats) metrics.Cache {
	return metrics.Cache{
		Resource: resource, Ready: s.Ready, Revision: int64(s.Revision), Objects: s.Objects, Invalid: s.Invalid, Bytes: s.Bytes, Events: s.Events,
		Watchers: s.Watchers, Historic: s.Historic,
		Happened: metrics.Happened{Resyncs: max(0, s.Fills-1), Untrue: s.Untrue, Losses: s.Losses, Pasts: s.Pasts, Loads: s.Loads},
	}
}
