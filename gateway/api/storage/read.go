package storage

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/selector"
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
	if err := checkFields(t.Resource, p.Selector); err != nil {
		return nil, err
	}
	q := watchcache.ListQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.Selector, Filter: p.Filter, Limit: p.Limit, Account: p.Account}
	applyNameSelector(&q.Namespace, &q.Name, p)
	var err error
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
	q := watchcache.WatchQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.Selector, Filter: p.Filter, State: p.InitialEvents}
	if err := checkFields(t.Resource, p.Selector); err != nil {
		return q, err
	}
	applyNameSelector(&q.Namespace, &q.Name, p)
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

// applyNameSelector narrows a scope by the field selectors metadata.name and metadata.namespace, unless the URL has these.
func applyNameSelector(namespace, name *string, p request.ListOptions) {
	if only, ok := p.Selector.Namespace(); ok && *namespace == "" {
		*namespace = only
	}
	if only, ok := p.Selector.Name(); ok && *name == "" {
		*name = only
	}
}

// checkFields refuses a field selector on a field that no object of the resource can have.
func checkFields(res *resource.Resource, s *selector.Selector) error {
	if res.Schema == nil {
		return nil
	}
	for _, path := range s.Fields() {
		if path[0] != "metadata" && !res.Schema.Selectable(path) {
			return status.BadRequest("field label not supported: %s", strings.Join(path, "."))
		}
	}
	return nil
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
		return nil, expiredToken(request.ContinueToken{Revision: -1, After: token.After}.Text(listed(t.Ref)))
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

func expiredToken(fresh string) error {
	err := status.Error(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. "+
		"Start a new list without the continue parameter, or use the continue token in this response to get the rest of the results. "+
		"What that returns is not consistent with the pages before: objects created, modified or deleted since the first page may show.")
	err.ErrStatus.Continue = fresh
	return err
}

// listed returns the name of a collection in continue tokens, which all versions of the resource share.
func listed(ref resource.Ref) string { return ref.Resource.QualifiedName() + "/" + ref.Scope.Namespace }

// scopePrefix returns the prefix of the paths of a collection.
func scopePrefix(scope resource.Scope) string {
	return resource.Scope{Namespace: scope.Namespace}.Path()
}
