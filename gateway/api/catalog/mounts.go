package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/mount"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// mounts starts and stops the caches of the mounts.
type mounts struct {
	catalog *Catalog
	begun   chan struct{} // closed by begin

	mu      sync.Mutex // guards the fields below: one change at a time
	ctx     context.Context
	running *sync.WaitGroup
	held    []*heldMount
}

// heldMount is a mount with its cache.
type heldMount struct {
	mount.Mount
	cache *Cache
}

// newMounts makes the caches of mounts, and does not start them.
func newMounts(c *Catalog, wanted []mount.Mount) *mounts {
	m := &mounts{catalog: c, begun: make(chan struct{})}
	for _, w := range wanted {
		m.held = append(m.held, m.keep(w))
	}
	return m
}

// cachesOf returns the caches of mounts.
func cachesOf(held []*heldMount) []*Cache {
	all := make([]*Cache, len(held))
	for i, h := range held {
		all[i] = h.cache
	}
	return all
}

// begin allows mounts to be replaced until ctx ends. The caller has started the caches of the first mounts, and calls wait in the end.
func (m *mounts) begin(ctx context.Context, running *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx, m.running = ctx, running
	close(m.begun)
}

// wait waits for a Remount that is running when the context of begin ends.
func (m *mounts) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
}

// CheckMounts returns all errors of mounts: of each mount, and conflicts with the CustomResourceDefinitions in etcd.
func (c *Catalog) CheckMounts(ctx context.Context, wanted []mount.Mount) error {
	if err := mount.Check(wanted, c.Prefix, c.builtin); err != nil || len(wanted) == 0 {
		return err
	}
	page, err := c.Store.List(ctx, customresource.Kind().Prefix(c.Prefix), etcdstore.ListOptions{})
	if err != nil {
		return fmt.Errorf("mounts: the CustomResourceDefinitions: %w", err)
	}
	var definitions []*customresource.Definition
	for _, kv := range page.KVs {
		if kv.Unreadable != nil {
			return fmt.Errorf("mounts: the CustomResourceDefinitions: %w", kv.Unreadable)
		}
		if d, err := customresource.Parse(kv.Value); err == nil && d.Established() { // others have no names
			definitions = append(definitions, d)
		}
	}
	var errs []error
	for i, w := range wanted {
		verdicts := customresource.Accept(definitions, []*resource.Resource{w.Resource()})
		for _, d := range definitions {
			if conflict := verdicts[d.V1.Name]; conflict != (customresource.Conflict{}) {
				errs = append(errs, fmt.Errorf("mounts[%d]: the CustomResourceDefinition %s has these names already: %s: choose others, or delete the definition",
					i, d.V1.Name, conflict.Message))
			}
		}
	}
	return errors.Join(errs...)
}

// Remount replaces the mounts. A mount that is the same keeps its watches. The watches of a removed mount end; they end with 410 if
// another mount has its name. After an error the old mounts are served.
func (c *Catalog) Remount(ctx context.Context, wanted []mount.Mount) error {
	m := c.mounts
	if err := waitFor(ctx, m.begun); err != nil {
		return err
	}
	if err := c.CheckMounts(ctx, wanted); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return watchcache.ErrStopped
	}
	if slices.EqualFunc(m.held, wanted, func(h *heldMount, w mount.Mount) bool { return h.Mount == w }) {
		return nil
	}
	next := make([]*heldMount, len(wanted))
	for i, w := range wanted {
		next[i] = m.keep(w)
	}
	if err := m.fill(ctx, next); err != nil {
		return err
	}
	before := m.held
	m.held = next
	c.replace(func(s *sources) { s.setMounts(m.ctx, cachesOf(next)) })
	for _, h := range before {
		h.retire(next)
	}
	return nil
}

// keep returns a mount with its cache, which is new if the mount is.
func (m *mounts) keep(wanted mount.Mount) *heldMount {
	for _, h := range m.held {
		switch {
		case h.Mount == wanted:
			return h
		case h.SameObjects(wanted):
			same := *h.cache
			same.resource = wanted.Resource()
			return &heldMount{wanted, &same}
		}
	}
	return &heldMount{wanted, m.catalog.NewCache(wanted.Resource())}
}

// fill starts the new caches, and waits until they are filled.
func (m *mounts) fill(ctx context.Context, next []*heldMount) (err error) {
	var started []*Cache
	for _, h := range next {
		if h.cache.stop == nil {
			h.cache.start(m.ctx, m.running)
			started = append(started, h.cache)
		}
	}
	for _, cache := range started {
		select {
		case <-cache.Filled():
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-m.ctx.Done():
			err = watchcache.ErrStopped
		}
		for _, cache := range started {
			cache.stop()
		}
		return fmt.Errorf("the keys below a mount's prefix were not read: %w", err)
	}
	return nil
}

// retire stops the cache of a mount, unless one of the next mounts uses it. If one of them has its name, clients must list again,
// because the objects are others.
func (h *heldMount) retire(next []*heldMount) {
	if slices.ContainsFunc(next, func(n *heldMount) bool { return n.cache.Cache == h.cache.Cache }) {
		return
	}
	if slices.ContainsFunc(next, func(n *heldMount) bool { return n.cache.resource.SamePlace(h.cache.resource) && n.Version == h.Version }) {
		h.cache.Expire()
	}
	h.cache.stop()
}
