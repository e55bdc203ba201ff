package storage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Serve makes the garbage collector collect the objects of a new snapshot.
func (s *Store) Serve(now *catalog.Snapshot) {
	var resources []*garbage.Resource
	for _, res := range now.Registry.All() {
		if cache, ok := now.Caches[res]; ok && res.Mount == nil { // keys of other programs have no owners and no Namespace
			resources = append(resources, s.gcResource(res, cache))
		}
	}
	s.Collector.Serve(resources)
}

func (s *Store) gcResource(res *resource.Resource, cache *catalog.Cache) *garbage.Resource {
	cache = cache.AsStored() // the collector reads metadata only, and must not wait for a webhook
	return &garbage.Resource{
		Name: res.QualifiedName(), APIVersion: res.APIVersion(), Kind: res.Kind, Namespaced: res.Namespaced,
		Objects: &gcObjects{store: s, target: catalog.Target{Ref: resource.Ref{Resource: cache.Resource()}, Cache: cache}},
	}
}

// gcObjects lets the garbage collector read and change the objects of a resource.
type gcObjects struct {
	store  *Store
	target catalog.Target // without a scope
}

var _ garbage.Objects = (*gcObjects)(nil)

func (c *gcObjects) at(namespace, name string) catalog.Target {
	t := c.target
	t.Scope = resource.Scope{Namespace: namespace, Name: name}
	return t
}

// objectOf returns an object as the collector sees it.
func objectOf(o *watchcache.Object, created etcdstore.Revision) garbage.Object {
	out := garbage.Object{Namespace: o.Namespace(), Name: o.Name(), Created: created, Revision: o.Revision}
	if o.Invalid == nil {
		out.JSON = o.JSON
	}
	return out
}

func (c *gcObjects) Cached(ctx context.Context, namespace, name string) (*garbage.Object, error) {
	t := c.at(namespace, name)
	o, err := t.Cache.Get(ctx, t.Scope.Path(), 0)
	return found(o, err)
}

func (c *gcObjects) Read(ctx context.Context, namespace, name string) (*garbage.Object, error) {
	o, _, err := c.store.read(ctx, c.at(namespace, name))
	return found(o, err)
}

func found(o *watchcache.Object, err error) (*garbage.Object, error) {
	if err != nil || o == nil {
		return nil, err
	}
	out := objectOf(o, 0)
	return &out, nil
}

// List leaves out invalid keys, because they do not belong to the namespace.
func (c *gcObjects) List(ctx context.Context, namespace, after string, limit int) (garbage.Page, error) {
	t := c.at(namespace, "")
	prefix := t.Key(c.store.Prefix)
	options := etcdstore.ListOptions{Limit: limit}
	if after != "" {
		options.After = prefix + after
	}
	list, err := c.store.Etcd.List(ctx, prefix, options)
	if err != nil {
		return garbage.Page{}, err
	}
	var page garbage.Page
	for _, kv := range list.KVs {
		if _, ok := t.Resource.Split(namespace + "/" + kv.Key[len(prefix):]); ok {
			o := objectOf(t.Cache.Decode(kv), kv.Created)
			page.Objects = append(page.Objects, &o)
		}
	}
	if n := len(list.KVs); n > 0 && list.Remaining > 0 {
		page.Next = list.KVs[n-1].Key[len(prefix):]
	}
	return page, nil
}

func (c *gcObjects) All(ctx context.Context, namespace string, atLeast etcdstore.Revision) (iter.Seq[*garbage.Object], error) {
	list, err := c.target.Cache.List(ctx, watchcache.ListQuery{Namespace: namespace, AtLeast: atLeast})
	if err != nil {
		return nil, err
	}
	return func(yield func(*garbage.Object) bool) {
		for o := range list.Objects {
			out := objectOf(o, 0)
			if !yield(&out) {
				return
			}
		}
	}, nil
}

func (c *gcObjects) Elsewhere(ctx context.Context, namespace, name string) (bool, error) {
	for _, key := range claim.KeysElsewhere(c.store.Prefix, c.target.Resource, resource.Scope{Namespace: namespace, Name: name}) {
		_, _, err := c.store.Etcd.Get(ctx, key)
		if !errors.Is(err, etcdstore.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

func (c *gcObjects) Key(namespace, name string) string {
	return c.target.Resource.Key(c.store.Prefix, resource.Scope{Namespace: namespace, Name: name})
}

func (c *gcObjects) Count() int { return c.target.Cache.Stats().Objects }

// Delete uses the revision as its precondition, which is stronger than the uid.
func (c *gcObjects) Delete(ctx context.Context, o *garbage.Object, policy metav1.DeletionPropagation, because string) (gone bool, err error) {
	if err := c.store.Claim.Verify(ctx); err != nil {
		return false, err
	}
	revision := strconv.FormatInt(int64(o.Revision), 10)
	options := &metav1.DeleteOptions{GracePeriodSeconds: new(int64), // nothing ends the containers
		Preconditions: &metav1.Preconditions{ResourceVersion: &revision}, PropagationPolicy: &policy}
	deleted, err := c.store.Delete(ctx, c.at(o.Namespace, o.Name), options)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, nil
	case err == nil:
		c.store.Audit(c.target.Resource, resource.Scope{Namespace: o.Namespace, Name: o.Name}, because)
	}
	return err == nil && !deleted.Kept(), err
}

func (c *gcObjects) Edit(ctx context.Context, namespace, name string, change func(map[string]any) bool) error {
	t := c.at(namespace, name)
	wr := &Request{Target: t, Options: Options{Manager: "revtail"}}
	err := c.store.guaranteedUpdate(ctx, t, true, func(a *updateAttempt) error {
		if !a.shown() {
			return status.ObjectNotFound(t.Ref)
		}
		next := a.old.Copy()
		if !change(next.Metadata()) {
			return nil
		}
		wr.updateManagedFields(a.old, next)
		_, err := c.store.replace(ctx, wr, next, a)
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *gcObjects) Watch(ctx context.Context, each func([]garbage.Change, bool)) error {
	w, err := c.target.Cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return err
	}
	defer w.Close()
	var changes []garbage.Change // with their objects, the memory of each batch, because the initial state may be a million objects
	var objects []garbage.Object
	for {
		batch, err := w.Next(ctx)
		if err != nil {
			return err
		}
		changes, objects = changes[:0], slices.Grow(objects[:0], len(batch.Changes))
		for i, change := range batch.Changes {
			objects = append(objects, objectOf(change.Object, 0))
			changes = append(changes, garbage.Change{Object: &objects[i], Gone: change.Type == encoding.Deleted})
		}
		each(changes, batch.Synced)
	}
}
