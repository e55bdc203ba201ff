package quota

import (
	"context"
	"errors"
	"sync"

	"revtail/gateway/api/catalog"
	"revtail/gateway/watchcache"
)

// objects follows the objects of the resources that count for any quota.
type objects struct {
	controller *Controller
	ctx        context.Context //nolint:containedctx // of the watches, which begin and end with quotas
	running    sync.WaitGroup
}

var errNotServed = errors.New("the resource is not served")

// watchCounted begins and ends watches, so that there is one of each resource that counts.
func (o *objects) watchCounted() {
	c := o.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := make(map[counted]bool)
	for _, known := range c.quotas {
		for of := range known.counts {
			wanted[of] = true
		}
	}
	for of, end := range c.watching {
		if !wanted[of] {
			end()
			delete(c.watching, of)
		}
	}
	for of := range wanted {
		if c.watching[of] == nil {
			ctx, end := context.WithCancel(o.ctx)
			c.watching[of] = end
			o.running.Go(func() { o.watch(ctx, of) })
		}
	}
}

// watch queues the quotas for which a resource counts, when its objects change, until ctx ends.
func (o *objects) watch(ctx context.Context, of counted) {
	for ctx.Err() == nil {
		if err := o.follow(ctx, of); ctx.Err() == nil && !errors.Is(err, errNotServed) {
			o.controller.Logger.Debug("watching what counts for ResourceQuotas anew", "resource", of.String(), "error", err)
		}
		pause(ctx, retry)
	}
}

// follow watches the objects of a resource until that fails.
func (o *objects) follow(ctx context.Context, of counted) error {
	cache := cacheOf(o.controller.Catalog.Current(), of)
	if cache == nil {
		return errNotServed
	}
	watcher, err := cache.Watch(watchcache.WatchQuery{Own: true})
	if err != nil {
		return err
	}
	defer watcher.Close()
	o.controller.enqueue(of, "") // for what happened before
	for {
		batch, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for _, change := range batch.Changes {
			o.controller.enqueue(of, change.Object.Namespace())
		}
	}
}

// cacheOf returns the cache of a resource in any of its versions; nil: it is not served.
func cacheOf(now *catalog.Snapshot, of counted) *catalog.Cache {
	for _, res := range now.Registry.All() {
		if res.Group == of.Group && res.Plural == of.Resource && res.Namespaced && !res.Virtual && res.Mount == nil {
			return now.Caches[res]
		}
	}
	return nil
}
