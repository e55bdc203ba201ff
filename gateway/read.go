package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// requestTimeout bounds what is not a watch.
const requestTimeout = 60 * time.Second

func (s *Server) serveGet(w http.ResponseWriter, r *http.Request, t target) {
	if err := s.negotiate(r); err != nil {
		s.responder.fail(w, r, err)
		return
	}
	revision, unset, err := parseRevision(queryOf(r).Get("resourceVersion"))
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	var object *watchcache.Object
	if unset {
		object, err = s.read(ctx, t)
	} else {
		object, err = t.cache.Get(ctx, t.Scope.Path(), revision)
		tellAge(w, t)
	}
	if err == nil && (object == nil || !object.Shown()) {
		if object != nil {
			s.warnInvalid(w, t, []*watchcache.Object{object}, 1)
		}
		err = absent(t)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	s.respondObject(w, r, t, http.StatusOK, object.JSON)
}

// read reads the object of a request from etcd; nil: there is none.
func (s *Server) read(ctx context.Context, t target) (*watchcache.Object, error) {
	kv, _, err := s.options.Store.Get(ctx, s.key(t, t.Scope))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.cache.Decode(kv), nil
}

func absent(t target) error {
	return apierrors.NewNotFound(t.groupResource(), t.Scope.Name)
}

func (t target) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: t.Resource.Group, Resource: t.Resource.Plural}
}

func (s *Server) serveListOrWatch(w http.ResponseWriter, r *http.Request, t target) {
	if boolParam(queryOf(r), "watch") {
		s.serveWatch(w, r, t)
		return
	}
	s.serveList(w, r, t)
}

func (s *Server) serveList(w http.ResponseWriter, r *http.Request, t target) {
	params, err := s.listParams(r, false)
	if err == nil {
		_, err = s.negotiateForm(r, aList)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	timeout := requestTimeout
	if params.hasTimeout {
		timeout = min(timeout, params.timeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	list, err := s.list(ctx, t, params)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	if !params.unset && !params.exact && params.after == nil {
		tellAge(w, t)
	}
	s.warnInvalid(w, t, list.Invalid, list.InvalidCount)
	s.writeList(w, r, t, list)
}

// list answers the table of resourceVersion, resourceVersionMatch, limit and continue; gateway/DESIGN.md has it.
func (s *Server) list(ctx context.Context, t target, p listParams) (*watchcache.List, error) {
	if err := t.checkFields(p.selector); err != nil {
		return nil, err
	}
	q := watchcache.ListQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.selector, Filter: p.filter, Limit: p.limit}
	narrow(&q.Namespace, &q.Name, p)
	var err error
	switch {
	case p.after != nil:
		return s.listPage(ctx, t, q, p.after)
	case p.unset:
		q.AtLeast, err = t.cache.Newest(ctx)
	case p.exact, p.limit > 0 && p.revision > 0 && !p.notOlder:
		q.At = p.revision
	default:
		q.AtLeast = p.revision
		if p.revision == 0 {
			q.Limit = 0 // any state will do: a client that asks so wants all of it at once
		}
	}
	if err != nil {
		return nil, err
	}
	return t.cache.List(ctx, q)
}

// narrow makes a scope of a field selector on the name or namespace, where the URL leaves it open.
func narrow(namespace, name *string, p listParams) {
	if only, ok := p.selector.Namespace(); ok && *namespace == "" {
		*namespace = only
	}
	if only, ok := p.selector.Name(); ok && *name == "" {
		*name = only
	}
}

// listPage continues a list at its own revision. When etcd does not hold that any more, the error carries a token with which
// the client can have the rest as it is now.
func (s *Server) listPage(ctx context.Context, t target, q watchcache.ListQuery, token *continueToken) (*watchcache.List, error) {
	if err := token.check(t.listed()); err != nil {
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
		return nil, expiredToken(continueToken{Revision: -1, After: token.After}.text(t.listed()))
	}
	return list, err
}

func expiredToken(fresh string) error {
	status := newStatus(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. "+
		"Start a new list without the continue parameter, or use the continue token in this response to get the rest of the results. "+
		"What that returns is not consistent with the pages before: objects created, modified or deleted since the first page may show.")
	status.Continue = fresh
	return &apierrors.StatusError{ErrStatus: *status}
}

// listed says what a collection is, whichever version of the resource shows it.
func (t target) listed() string { return t.Resource.QualifiedName() + "/" + t.Scope.Namespace }

// scopePrefix is what the paths of a collection begin with.
func scopePrefix(scope resource.Scope) string {
	return resource.Scope{Namespace: scope.Namespace}.Path()
}

// writeList writes a list in the form that the client asks for, while it is read.
func (s *Server) writeList(w http.ResponseWriter, r *http.Request, t target, list *watchcache.List) {
	f, err := s.negotiateForm(r, aList)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	meta := encoding.ListMeta{ResourceVersion: int64(list.Revision), RemainingItemCount: list.Remaining}
	if list.Continue != "" {
		after := list.Continue[len(scopePrefix(t.Scope)):]
		meta.Continue = continueToken{Revision: list.Revision, After: after}.text(t.listed())
	}
	shown, written := f.view(t.Resource), f.format(r)
	w.Header().Set("Content-Type", written.contentType())
	p := newPayload(w, r, http.StatusOK, s.responder.compressors)
	defer p.finish()
	if list.Text != nil && verbatim(shown, written) {
		p.take(newListing(shown.listHead(meta), list, s.watches.opener.writeTimeout), r)
		return
	}
	p.Bytes = written.appendHead(p.Bytes, shown.listHead(meta))
	empty := true
	for object := range list.Objects {
		p.Bytes = written.appendItem(p.Bytes, shown.item(object.JSON), empty)
		empty = false
		if p.spill() != nil {
			return
		}
	}
	p.Bytes = written.appendTail(p.Bytes, empty)
}
