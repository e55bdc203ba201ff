package storage

import (
	"context"
	"errors"
	"fmt"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Get returns an object from the cache, in a state not older than a revision; with unset it reads the object from etcd. Nil: the object
// does not exist. The error is an *etcdstore.UnreadableError if it cannot be decrypted.
func (s *Store) Get(ctx context.Context, t catalog.Target, revision etcdstore.Revision, unset bool) (*watchcache.Object, error) {
	var object *watchcache.Object
	var err error
	if unset {
		object, _, err = s.read(ctx, t)
	} else {
		object, err = t.Cache.Get(ctx, t.Scope.Path(), revision)
	}
	if err == nil {
		err = checkReadable(object)
	}
	return object, err
}

// Find returns the document of an object of the core group, and its revision; nil: it does not exist. With fresh it reads the object from etcd, without
// it only from memory, where an object may be missing that was created some milliseconds ago.
func (s *Store) Find(ctx context.Context, plural, namespace, name string, fresh bool) (document []byte, revision int64, err error) {
	now := s.Catalog.Current()
	t := catalog.Target{Ref: resource.Ref{Resource: now.Registry.Lookup("", "v1", plural), Scope: resource.Scope{Namespace: namespace, Name: name}}}
	if t.Cache = now.Caches[t.Resource]; t.Cache == nil {
		return nil, 0, fmt.Errorf("%s are not served", plural)
	}
	if _, valid := t.Resource.Split(t.Scope.Path()); !valid {
		return nil, 0, nil
	}
	object := t.Cache.Peek(t.Scope.Path())
	if fresh {
		object, err = s.Get(ctx, t, 0, true)
	}
	if object == nil || !object.Shown() {
		return nil, 0, err
	}
	return object.JSON, int64(object.Revision), err
}

// checkReadable returns why the value of an object, if there is one, cannot be decrypted.
func checkReadable(object *watchcache.Object) error {
	if object == nil || object.Unreadable() == nil {
		return nil
	}
	return object.Unreadable()
}

// read reads an object from etcd; nil: it does not exist. stale: it should be written again even if nothing changes.
func (s *Store) read(ctx context.Context, t catalog.Target) (object *watchcache.Object, stale bool, err error) {
	kv, _, err := s.Etcd.Get(ctx, t.Key(s.Prefix))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return t.Cache.Decode(kv), kv.Stale, nil
}

// List lists objects. gateway/DESIGN.md has the table of resourceVersion, resourceVersionMatch, limit and continue.
func (*Store) List(ctx context.Context, t catalog.Target, p request.ListOptions) (*watchcache.List, error) {
	var err error
	if p.Selector, err = request.SelectorOf(t.Resource, p.Selector); err != nil {
		return nil, err
	}
	q := watchcache.ListQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.Selector, Filter: p.Filter, Limit: p.Limit, Account: p.Account}
	p.NarrowScope(&q.Namespace, &q.Name)
	switch {
	case p.Continue != nil:
		return listPage(ctx, t, q, p.Continue)
	case p.Unset:
		q.AtLeast, err = t.Cache.Newest(ctx)
	case p.Exact, p.Limit > 0 && p.Revision > 0 && !p.NotOlder:
		q.At = p.Revision
	default:
		q.AtLeast = p.Revision
		if p.Revision == 0 {
			q.Limit = 0 // as in kube-apiserver
		}
	}
	if err != nil {
		return nil, err
	}
	return t.Cache.List(ctx, q)
}

// WatchQuery returns the query of a watch. A state without a resourceVersion must have every write that was acknowledged before the
// request, so WatchQuery reads etcd's revision.
func (*Store) WatchQuery(ctx context.Context, t catalog.Target, p request.ListOptions) (watchcache.WatchQuery, error) {
	var err error
	if p.Selector, err = request.SelectorOf(t.Resource, p.Selector); err != nil {
		return watchcache.WatchQuery{}, err
	}
	q := watchcache.WatchQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.Selector, Filter: p.Filter, State: p.InitialEvents}
	p.NarrowScope(&q.Namespace, &q.Name)
	newest := p.Revision
	if p.Unset {
		bounded, cancel := context.WithTimeout(ctx, request.Timeout)
		defer cancel()
		var err error
		if newest, err = t.Cache.Newest(bounded); err != nil {
			return q, err
		}
	}
	if p.InitialEvents {
		q.AtLeast = newest
	} else {
		q.After = newest
	}
	return q, nil
}

// listPage continues a list at the revision of its token. If etcd has compacted that revision, the error has a token with which the client
// can list the rest in the newest state.
func listPage(ctx context.Context, t catalog.Target, q watchcache.ListQuery, token *request.ContinueToken) (*watchcache.List, error) {
	if err := token.Check(listed(t.Ref)); err != nil {
		return nil, err
	}
	q.After = scopePrefix(t.Scope) + token.After
	if token.Revision < 0 {
		revision, err := t.Cache.Newest(ctx)
		if err != nil {
			return nil, err
		}
		q.AtLeast = revision
		return t.Cache.List(ctx, q)
	}
	q.At = token.Revision
	list, err := t.Cache.List(ctx, q)
	var compacted *etcdstore.CompactedError
	if errors.As(err, &compacted) {
		return nil, status.ExpiredToken(request.ContinueToken{Revision: -1, After: token.After}.Text(listed(t.Ref)))
	}
	return list, err
}

// NextPage returns the continue token of a list; empty: the list is complete.
func NextPage(t catalog.Target, list *watchcache.List) string {
	if list.Continue == "" {
		return ""
	}
	after := list.Continue[len(scopePrefix(t.Scope)):]
	return request.ContinueToken{Revision: list.Revision, After: after}.Text(listed(t.Ref))
}

// listed returns the name of a collection in continue tokens, which all versions of the resource share.
func listed(ref resource.Ref) string { return ref.Resource.QualifiedName() + "/" + ref.Scope.Namespace }

// scopePrefix returns the prefix of the paths of a collection.
func scopePrefix(scope resource.Scope) string {
	return resource.Scope{Namespace: scope.Namespace}.Path()
}
