package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/selector"
)

// get reads an object as it is now or, unless unset, from the cache in a state that is not older than a revision; nil: it does
// not exist.
func (s *store) get(ctx context.Context, t target, revision etcdstore.Revision, unset bool) (*watchcache.Object, error) {
	if unset {
		return s.read(ctx, t)
	}
	return t.cache.Get(ctx, t.Scope.Path(), revision)
}

// read reads an object from etcd; nil: it does not exist.
func (s *store) read(ctx context.Context, t target) (*watchcache.Object, error) {
	kv, _, err := s.etcd.Get(ctx, t.Key(s.prefix))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.cache.Decode(kv), nil
}

// list answers the table of resourceVersion, resourceVersionMatch, limit and continue; gateway/DESIGN.md has it.
func (*store) list(ctx context.Context, t target, p listParams) (*watchcache.List, error) {
	if err := checkFields(t.Resource, p.selector); err != nil {
		return nil, err
	}
	q := watchcache.ListQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.selector, Filter: p.filter, Limit: p.limit}
	applyNameSelector(&q.Namespace, &q.Name, p)
	var err error
	switch {
	case p.after != nil:
		return listPage(ctx, t, q, p.after)
	case p.unset:
		q.AtLeast, err = t.cache.Newest(ctx)
	case p.exact, p.limit > 0 && p.revision > 0 && !p.notOlder:
		q.At = p.revision
	default:
		q.AtLeast = p.revision
		if p.revision == 0 {
			q.Limit = 0 // resourceVersion=0 is answered at once and whole, as kube-apiserver does
		}
	}
	if err != nil {
		return nil, err
	}
	return t.cache.List(ctx, q)
}

// watchQuery says where a watch begins. A state without a resourceVersion must hold every write that was acknowledged before
// the request, so etcd is asked for its revision.
func (*store) watchQuery(ctx context.Context, t target, p listParams) (watchcache.WatchQuery, error) {
	q := watchcache.WatchQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.selector, Filter: p.filter, State: p.state}
	if err := checkFields(t.Resource, p.selector); err != nil {
		return q, err
	}
	applyNameSelector(&q.Namespace, &q.Name, p)
	newest := p.revision
	if p.unset {
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		var err error
		if newest, err = t.cache.Newest(bounded); err != nil {
			return q, err
		}
	}
	if p.state {
		q.AtLeast = newest
	} else {
		q.After = newest
	}
	return q, nil
}

// applyNameSelector narrows a scope by a field selector on the name or the namespace, where the URL leaves it open.
func applyNameSelector(namespace, name *string, p listParams) {
	if only, ok := p.selector.Namespace(); ok && *namespace == "" {
		*namespace = only
	}
	if only, ok := p.selector.Name(); ok && *name == "" {
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
			return badRequest("field label not supported: %s", strings.Join(path, "."))
		}
	}
	return nil
}

// listPage continues a list at its own revision. If etcd has compacted that, the error carries a token with which the client
// can read the rest in its newest state.
func listPage(ctx context.Context, t target, q watchcache.ListQuery, token *continueToken) (*watchcache.List, error) {
	if err := token.check(listed(t.Ref)); err != nil {
		return nil, err
	}
	q.After = scopePrefix(t.Scope) + token.After
	if token.Revision < 0 {
		revision, err := t.cache.Newest(ctx)
		if err != nil {
			return nil, err
		}
		q.AtLeast = revision
		return t.cache.List(ctx, q)
	}
	q.At = token.Revision
	list, err := t.cache.List(ctx, q)
	var compacted *etcdstore.CompactedError
	if errors.As(err, &compacted) {
		return nil, expiredToken(continueToken{Revision: -1, After: token.After}.text(listed(t.Ref)))
	}
	return list, err
}

// nextPage is the token with which a client continues a list; empty: the list is complete.
func nextPage(t target, list *watchcache.List) string {
	if list.Continue == "" {
		return ""
	}
	after := list.Continue[len(scopePrefix(t.Scope)):]
	return continueToken{Revision: list.Revision, After: after}.text(listed(t.Ref))
}

func expiredToken(fresh string) error {
	status := newStatus(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. "+
		"Start a new list without the continue parameter, or use the continue token in this response to get the rest of the results. "+
		"What that returns is not consistent with the pages before: objects created, modified or deleted since the first page may show.")
	status.Continue = fresh
	return &apierrors.StatusError{ErrStatus: *status}
}

// listed names a collection in continue tokens, the same for every version of the resource.
func listed(ref resource.Ref) string { return ref.Resource.QualifiedName() + "/" + ref.Scope.Namespace }

// scopePrefix is what the paths of a collection begin with.
func scopePrefix(scope resource.Scope) string {
	return resource.Scope{Namespace: scope.Namespace}.Path()
}
