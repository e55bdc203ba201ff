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

// mounts are the prefixes of etcd that the configuration shows as resources.
type mounts struct {
	catalog *Catalog
	begun   chan struct{} // closed when caches can be started

	mu      sync.Mutex // guards the fields below: one change at a time
	ctx     context.Context
	running *sync.WaitGroup
	held    []*heldMount

	news     sync.Mutex // guards the fields below
	current  context.Context
	replaced context.CancelFunc // ends current
}

// heldMount is a mount that is served.
type heldMount struct {
	mount.Mount
	resource *resource.Resource
	cache    *Cache
}

// newMounts holds mounts, whose caches are not started.
func newMounts(c *Catalog, wanted []mount.Mount) *mounts {
	m := &mounts{catalog: c, begun: make(chan struct{})}
	for _, w := range wanted {
		m.held = append(m.held, m.newHeld(w))
	}
	return m
}

func (m *mounts) newHeld(wanted mount.Mount) *heldMount {
	res := wanted.Resource()
	return &heldMount{wanted, res, m.catalog.NewCache(res)}
}

// sourcesOf are the resources of mounts, to be served.
func sourcesOf(held []*heldMount) []source {
	all := make([]source, len(held))
	for i, h := range held {
		all[i] = source{[]*resource.Resource{h.resource}, []*Cache{h.cache}}
	}
	return all
}

// begin lets mounts be replaced until ctx ends; wait has to be called then. The caller starts the caches of those that there are.
func (m *mounts) begin(ctx context.Context, running *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx, m.running = ctx, running
	m.tell()
	close(m.begun)
}

// wait returns when nothing will be started any more; the context of begin has ended.
func (m *mounts) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
}

// unchanged ends when the mounts become others.
func (m *mounts) unchanged() context.Context {
	m.news.Lock()
	defer m.news.Unlock()
	return m.current
}

// tell ends what unchanged has returned.
func (m *mounts) tell() {
	m.news.Lock()
	defer m.news.Unlock()
	if m.replaced != nil {
		m.replaced()
	}
	m.current, m.replaced = context.WithCancel(m.ctx)
}

// CheckMounts says what stands against mounts: in themselves, and by what is defined in etcd.
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
		if d, err := customresource.Parse(kv.Value); err == nil && d.Established() { // others have no names that could be taken
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

// Remount serves other mounts from now on, while the server runs. Those that stay as they are keep their watches; watches of
// those that go end, and watches of those that become others end with 410. An error leaves all as it was.
func (c *Catalog) Remount(ctx context.Context, wanted []mount.Mount) error {
	m := c.mounted
	select {
	case <-m.begun:
	case <-ctx.Done():
		return ctx.Err()
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
	c.replace(func(s *sources) { s.mounts = sourcesOf(next) })
	m.tell()
	for _, h := range before {
		h.retire(next)
	}
	return nil
}

// keep is a mount with the cache that there is of it, if there is one.
func (m *mounts) keep(wanted mount.Mount) *heldMount {
	for _, h := range m.held {
		switch {
		case h.Mount == wanted:
			return h
		case h.SameObjects(wanted):
			return &heldMount{wanted, wanted.Resource(), h.cache}
		}
	}
	return m.newHeld(wanted)
}

// fill starts the caches that are new, and waits until they are filled.
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

// retire ends the cache of a mount, unless it is used by one of those that come after it. What is called the same then has other
// objects: who has seen these must list again.
func (h *heldMount) retire(next []*heldMount) {
	if slices.ContainsFunc(next, func(n *heldMount) bool { return n.cache == h.cache }) {
		return
	}
	if slices.ContainsFunc(next, func(n *heldMount) bool { return n.resource.SamePlace(h.resource) && n.Version == h.Version }) {
		h.cache.Expire()
	}
	h.cache.stop()
}
