package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/metrics"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// runningCache is the cache of a resource, with the means to stop it and what writes need.
type runningCache struct {
	*watchcache.Cache
	fields *managers
	stop   context.CancelFunc // nil: not started
}

// eventGap: a burst of writes becomes one write to each watch. It is less than a flush of etcd to its disk takes.
const eventGap = 2 * time.Millisecond

// newCache makes the cache of a resource.
func (c *catalog) newCache(res *resource.Resource) *runningCache {
	config := watchcache.Config{
		Store:  c.store,
		Prefix: res.Prefix(c.prefix),
		Decode: decoder(res, c.prefix),
		Logger: c.logger,
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
	return &runningCache{fields: newManagers(res), Cache: watchcache.New(config)}
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

var errMisplaced = errors.New("the key has not the form that the resource's keys have")

// figures are those of all caches, for /metrics.
func (c *catalog) figures() []metrics.Cache {
	now := c.current()
	out := make([]metrics.Cache, 0, len(now.caches))
	for _, res := range now.registry.All() {
		if cache, ok := now.caches[res]; ok {
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
