package gateway

import (
	"context"
	"net/http"

	"revtail/gateway/watchcache"
)

// serveWatch is the life of a watch: the query is checked, a cursor is opened, and until the deadline whatever the cursor
// has ready is written. What goes wrong before the first byte is a Status with its HTTP code; afterwards it is an ERROR frame.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request, t target) {
	params, err := s.listParams(r, true)
	var f form
	if err == nil {
		f, err = s.negotiateForm(r, aWatch)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	query, err := s.watchQuery(r.Context(), t, params)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	start := watchStart{
		resource: t.Resource.QualifiedName(), cache: t.cache, query: query, encoder: kubernetesEncoder{f.view(t.Resource)}, bookmarks: params.bookmarks, bookmarkEvery: bookmarkPeriod,
		deadline: deadlineAfter(params.timeout), fail: s.responder.fail, done: func() {},
	}
	if f.events {
		s.watches.asEventStream(w, &start)
	}
	s.watches.follow(w, r, start)
}

// watchQuery says where the watch begins. A state without a resourceVersion must hold every write that was acknowledged
// before the request: etcd is asked how far that is.
func (s *Server) watchQuery(ctx context.Context, t target, p listParams) (watchcache.WatchQuery, error) {
	q := watchcache.WatchQuery{Namespace: t.Scope.Namespace, Name: t.Scope.Name, Selector: p.selector, Filter: p.filter, State: p.state}
	if err := t.checkFields(p.selector); err != nil {
		return q, err
	}
	narrow(&q.Namespace, &q.Name, p)
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
