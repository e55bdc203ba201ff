package watchcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"revtail/etcdstore"
)

// inspectEvery is how often the cache is compared with etcd (kube-apiserver: 5 minutes as well); up to half of it is added, at
// random, so that not all do it at the same moment.
const inspectEvery = 5 * time.Minute

// inspectSoon is within what time the cache is compared after its watch was lost and opened again: nothing else tells an etcd that
// was put back to an older state and written to, meanwhile, beyond the revision that it had. inspectGap is the least time between
// two such comparisons.
const (
	inspectSoon = 10 * time.Second
	inspectGap  = time.Minute
)

// inspect compares the cache with etcd now and then, and soon after its watch was lost, until ctx ends. A cache that is not what etcd has starts anew: that it can
// be so is a mistake, here or there, and must not last.
func (c *Cache) inspect(ctx context.Context) {
	var last time.Time
	for ctx.Err() == nil {
		c.awaitInspection(ctx, last)
		last = time.Now()
		difference, err := c.difference(ctx)
		if err != nil || difference == "" {
			continue // nothing can be said now, or nothing is wrong
		}
		c.config.Logger.Error("the cache is not what etcd has: it is filled anew", "prefix", c.config.Prefix, "difference", difference)
		c.mu.Lock()
		c.untrue++
		c.mu.Unlock()
		c.suspect(fmt.Errorf("%w: %s", errUntrue, difference))
	}
}

func (c *Cache) awaitInspection(ctx context.Context, last time.Time) {
	timer := time.NewTimer(inspectEvery + rand.N(inspectEvery/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-c.reopened:
		sleep(ctx, max(rand.N(inspectSoon), time.Until(last.Add(inspectGap))))
	}
}

// difference says what differs between the cache and etcd as of one revision; empty: nothing. Keys and their revisions are
// compared: no two values have the same.
func (c *Cache) difference(ctx context.Context) (string, error) {
	c.mu.Lock()
	s, ready := c.current, c.ready
	c.mu.Unlock()
	if !ready {
		return "", nil
	}
	options := etcdstore.ListOptions{At: s.revision, Limit: fillPage, KeysOnly: true}
	for held := 0; ; {
		page, err := c.config.Store.List(ctx, c.config.Prefix, options)
		if err != nil {
			return "", err
		}
		for _, kv := range page.KVs {
			options.After = kv.Key
			if o := s.get(c.path(kv.Key)); o == nil || o.Revision != kv.Modified {
				return fmt.Sprintf("%q, which etcd has at revision %d", kv.Key, kv.Modified), nil
			}
		}
		if held += len(page.KVs); page.Remaining > 0 {
			continue
		}
		if size := s.size(); size != held {
			return fmt.Sprintf("%d objects, of which etcd has %d", size, held), nil
		}
		return "", nil
	}
}
