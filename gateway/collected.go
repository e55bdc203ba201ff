package gateway

import (
	"context"
	"errors"
	"iter"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// requestsKey is what the keys of the records of DELETE requests begin with.
const requestsKey = "revtail/deleted"

// leaderKey is what the keys begin with by which gateways agree on who collects garbage. User's prefixes begin with a slash.
const leaderKey = "revtail/leader"

// newCollector makes the garbage collector, and finds the namespaces among the caches.
func (s *Server) newCollector(caches map[*resource.Resource]*runningCache) *garbage.Collector {
	config := garbage.Config{
		Store: s.options.Store, Permit: s.options.Claim.Verify, Key: leaderKey + s.options.Prefix, Owners: s.options.GarbageCollector,
		Requests: s.requested, Limit: s.options.GarbageCollectorLimit, Logger: s.options.Logger,
	}
	for res, cache := range caches {
		if res.IsNamespaces() {
			s.namespaces, config.Namespaces = cache.Cache, s.collected(res, cache)
			config.Removed = func(name string) {
				s.access.auditOwn(res, resource.Scope{Name: name}, "it was being deleted, and nothing is left in it")
			}
		}
	}
	return garbage.New(config)
}

// collect tells the garbage collector which resources there are.
func (s *Server) collect(now *snapshot) {
	var resources []*garbage.Resource
	for _, res := range now.registry.All() {
		if cache, ok := now.caches[res]; ok && res.Mount == nil { // a mount's objects have no owners, and are in no Namespace
			resources = append(resources, s.collected(res, cache))
		}
	}
	s.collector.Serve(resources)
}

func (s *Server) collected(res *resource.Resource, cache *runningCache) *garbage.Resource {
	return &garbage.Resource{
		Name: res.QualifiedName(), APIVersion: res.APIVersion(), Kind: res.Kind, Namespaced: res.Namespaced,
		Objects: &collected{server: s, target: target{Ref: resource.Ref{Resource: res}, cache: cache.Cache, fields: cache.fields}},
	}
}

// collected is the objects of a resource as the garbage collector sees them.
type collected struct {
	server *Server
	target target // without a scope
}

var _ garbage.Objects = (*collected)(nil)

func (c *collected) at(namespace, name string) target {
	t := c.target
	t.Scope = resource.Scope{Namespace: namespace, Name: name}
	return t
}

func (c *collected) object(o *watchcache.Object, created etcdstore.Revision) *garbage.Object {
	out := &garbage.Object{Namespace: o.Namespace(), Name: o.Name(), Created: created, Revision: o.Revision}
	out.Key = c.server.key(c.target, resource.Scope{Namespace: out.Namespace, Name: out.Name})
	if o.Invalid == nil {
		out.JSON = o.JSON
	}
	return out
}

func (c *collected) Cached(ctx context.Context, namespace, name string) (*garbage.Object, error) {
	t := c.at(namespace, name)
	o, err := t.cache.Get(ctx, t.Scope.Path(), 0)
	if err != nil || o == nil {
		return nil, err
	}
	return c.object(o, 0), nil
}

func (c *collected) Read(ctx context.Context, namespace, name string) (*garbage.Object, error) {
	t := c.at(namespace, name)
	kv, _, err := c.server.options.Store.Get(ctx, c.server.key(t, t.Scope))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.object(t.cache.Decode(kv), kv.Created), nil
}

// List leaves out keys that no object can have: they are no part of the namespace.
func (c *collected) List(ctx context.Context, namespace, after string, limit int) (garbage.Page, error) {
	t := c.at(namespace, "")
	prefix := c.server.key(t, t.Scope)
	options := etcdstore.ListOptions{Limit: limit}
	if after != "" {
		options.After = prefix + after
	}
	list, err := c.server.options.Store.List(ctx, prefix, options)
	if err != nil {
		return garbage.Page{}, err
	}
	var page garbage.Page
	for _, kv := range list.KVs {
		if _, ok := t.Resource.Split(namespace + "/" + kv.Key[len(prefix):]); ok {
			page.Objects = append(page.Objects, c.object(t.cache.Decode(kv), kv.Created))
		}
	}
	if n := len(list.KVs); n > 0 && list.Remaining > 0 {
		page.Next = list.KVs[n-1].Key[len(prefix):]
	}
	return page, nil
}

func (c *collected) All(ctx context.Context, namespace string, atLeast etcdstore.Revision) (iter.Seq[*garbage.Object], error) {
	list, err := c.target.cache.List(ctx, watchcache.ListQuery{Namespace: namespace, AtLeast: atLeast})
	if err != nil {
		return nil, err
	}
	return func(yield func(*garbage.Object) bool) {
		for o := range list.Objects {
			if !yield(c.object(o, 0)) {
				return
			}
		}
	}, nil
}

func (c *collected) Elsewhere(ctx context.Context, namespace, name string) (bool, error) {
	for _, key := range claim.KeysElsewhere(c.server.options.Prefix, c.target.Resource, resource.Scope{Namespace: namespace, Name: name}) {
		_, _, err := c.server.options.Store.Get(ctx, key)
		if !errors.Is(err, etcdstore.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

func (c *collected) Count() int { return c.target.cache.Stats().Objects }

// Delete has the revision for a precondition, which is stronger than the uid.
func (c *collected) Delete(ctx context.Context, o *garbage.Object, policy metav1.DeletionPropagation, because string) (gone bool, err error) {
	if err := c.server.options.Claim.Verify(ctx); err != nil {
		return false, err
	}
	revision := strconv.FormatInt(int64(o.Revision), 10)
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &revision}}
	if policy != "" {
		options.PropagationPolicy = &policy
	}
	kept, _, err := c.server.delete(ctx, c.at(o.Namespace, o.Name), options)
	switch {
	case isAbsent(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, nil
	case err == nil:
		c.server.access.auditOwn(c.target.Resource, resource.Scope{Namespace: o.Namespace, Name: o.Name}, because)
	}
	return err == nil && kept == nil, err
}

func (c *collected) Edit(ctx context.Context, namespace, name string, change func(map[string]any) bool) error {
	t := c.at(namespace, name)
	wr := &write{target: t, writeParams: writeParams{manager: "revtail"}}
	err := c.server.onObject(ctx, t, true, func(a *attempt) error {
		if !a.shown() {
			return absent(t)
		}
		next := a.old.copy()
		if !change(next.metadata()) {
			return nil
		}
		wr.track(a.old, next)
		_, err := c.server.replace(ctx, wr, next, a)
		return err
	})
	if isAbsent(err) {
		return nil
	}
	return err
}

func (c *collected) Watch() (garbage.Watch, error) {
	w, err := c.target.cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return nil, err
	}
	return &collectedWatch{objects: c, watcher: w}, nil
}

// collectedWatch is a watch of the garbage collector.
type collectedWatch struct {
	objects *collected
	watcher *watchcache.Watcher
}

func (w *collectedWatch) Close() { w.watcher.Close() }

func (w *collectedWatch) Next(ctx context.Context) (garbage.Step, error) {
	batch, err := w.watcher.Next(ctx)
	step := garbage.Step{Synced: batch.Synced, Changes: make([]garbage.Change, len(batch.Changes))}
	for i, change := range batch.Changes {
		step.Changes[i] = garbage.Change{Object: w.objects.object(change.Object, 0), Gone: change.Type == encoding.Deleted}
	}
	return step, err
}
