package quota

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiquota "k8s.io/apiserver/pkg/quota/v1"

	"revtail/encoding"
	"revtail/gateway/watchcache"
)

// followed is a quota that exists.
type followed struct {
	namespace string
	counts    map[counted]bool // the resources whose objects count
	changed   time.Time        // when the quota changed last
	putOff    int              // how often the count has been put off
	rested    time.Time        // when its objects may be counted again
}

type counted = schema.GroupResource

// follow follows the quotas until that fails.
func (c *Controller) follow(ctx context.Context) error {
	if c.Catalog.WaitReady(ctx) != nil {
		return ctx.Err()
	}
	watcher, err := quotas(c.Catalog).Cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return err
	}
	defer watcher.Close()
	life := ctx
	ctx, cancel := context.WithCancel(ctx)
	f := &objects{controller: c, ctx: ctx}
	defer f.running.Wait()
	defer cancel()
	c.mu.Lock()
	c.quotas, c.watching = make(map[string]*followed), make(map[counted]context.CancelFunc)
	c.mu.Unlock()
	for {
		batch, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		if len(batch.Changes) == 0 {
			continue
		}
		if err := c.begin(life); err != nil {
			return err
		}
		for _, change := range batch.Changes {
			c.observe(change)
		}
		f.watchCounted()
	}
}

// observe takes notice of a change of a quota.
func (c *Controller) observe(change watchcache.Change) {
	path := change.Object.Path()
	quota, err := decode(change.Object)
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Type == encoding.Deleted || quota == nil || err != nil {
		delete(c.quotas, path)
		return
	}
	known := c.quotas[path]
	if known == nil {
		known = &followed{namespace: change.Object.Namespace()}
		c.quotas[path] = known
	}
	known.changed = time.Now()
	known.counts = make(map[counted]bool)
	for _, of := range c.usage.Resources(quota.Spec.Hard) {
		known.counts[of] = true
	}
	if !apiquota.Equals(quota.Spec.Hard, quota.Status.Hard) || quota.Status.Used == nil {
		c.queue.Add(path)
		return
	}
	c.queue.AddAfter(path, c.delayLocked(known))
}

// enqueue queues the quotas of a namespace (empty: of all) for which the objects of a resource count.
func (c *Controller) enqueue(of counted, namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, known := range c.quotas {
		if known.counts[of] && (namespace == "" || known.namespace == namespace) {
			c.queue.AddAfter(path, c.delayLocked(known))
		}
	}
}

func (c *Controller) delayLocked(of *followed) time.Duration {
	return max(settle, time.Until(of.rested))
}

// putOff returns how long the count for a quota has to wait, because it is being charged.
func (c *Controller) putOff(path string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.quotas[path]
	if known == nil {
		return 0
	}
	wait := quiet - time.Since(known.changed)
	if wait <= 0 || known.putOff == maxPutOff {
		known.putOff = 0
		return 0
	}
	known.putOff++
	return wait
}

// rest makes the objects of a quota not be counted for some time.
func (c *Controller) rest(path string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.quotas[path]; known != nil {
		known.rested = time.Now().Add(d)
	}
}
