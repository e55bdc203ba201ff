package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
	"revtail/gateway/metrics"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Cache is the cache of a resource, with the means to stop it and what writes need.
type Cache struct {
	*watchcache.Cache
	Fields *managedfields.Managers
	stop   context.CancelFunc // nil: not started
}

// eventGap: a burst of writes becomes one write to each watch. It is less than a flush of etcd to its disk takes.
const eventGap = 2 * time.Millisecond

// NewCache makes the cache of a resource.
func (c *Catalog) NewCache(res *resource.Resource) *Cache {
	config := watchcache.Config{
		Store:  c.Store,
		Prefix: res.Prefix(c.Prefix),
		Decode: decoder(res, c.Prefix),
		Logger: c.Logger,
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
	return &Cache{Fields: managedfields.New(res), Cache: watchcache.New(config)}
}

// start runs a cache until ctx ends or its stop is called.
func (c *Cache) start(ctx context.Context, running *sync.WaitGroup) {
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
		return encoding.Normalize(object.WithDefaults(res, kv.Value), id, int64(kv.Modified))
	}
}

var errMisplaced = errors.New("the key has not the form that the resource's keys have")

// Figures are those of all caches, for /metrics.
func (c *Catalog) Figures() []metrics.Cache {
	now := c.Current()
	out := make([]metrics.Cache, 0, len(now.Caches))
	for _, res := range now.Registry.All() {
		if cache, ok := now.Caches[res]; ok {
			out = append(out, metrics.CacheOf(res.QualifiedName(), cache.Stats()))
		}
	}
	return out
}

// mountDecoder makes objects of what other programs write below a mount's prefix.
func mountDecoder(m resource.Mount) func(etcdstore.KV) (encoding.Object, error) {
	return func(kv etcdstore.KV) (encoding.Object, error) {
		return m.Decode(resource.Entry{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified)})
	}
}
