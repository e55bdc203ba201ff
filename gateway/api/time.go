package api

import (
	"context"
	"net/http"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

// parseAt replaces the parameter at= of a list or a watch by the revision that it names: a list is that of the revision, and a watch begins after it.
func (h *Handler) parseAt(w http.ResponseWriter, r *http.Request, t catalog.Target, p *request.ListOptions) error {
	if request.Query(r).Has("at") && (r.Method != http.MethodGet || t.Cache == nil) {
		return status.BadRequest("at= is for gets, lists and watches of stored objects: leave it out")
	}
	revision, err := h.revisionAt(w, r, t)
	if err != nil || revision == 0 {
		return err
	}
	p.Revision, p.Unset, p.Exact, p.NotOlder, p.InitialEvents = revision, false, !p.IsWatch(), false, false
	return nil
}

// revisionAt returns the revision that at= names, and sets the header with the time of it; zero: there is no such parameter.
func (h *Handler) revisionAt(w http.ResponseWriter, r *http.Request, t catalog.Target) (etcdstore.Revision, error) {
	m, err := request.ParseAt(r)
	if err != nil || m.Time == nil {
		return m.Revision, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	point, err := request.ResolveTime(ctx, h.Timeline, []string{t.Resource.Prefix(h.Store.Prefix)}, *m.Time)
	if err != nil {
		return 0, err
	}
	response.SetTime(w, point.Time)
	return point.Revision, nil
}

// serveGetAt serves the state of an object at a past revision.
func (h *Handler) serveGetAt(w http.ResponseWriter, r *http.Request, t catalog.Target, revision etcdstore.Revision, f response.Representation) error {
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	list, err := h.Store.List(ctx, t, request.ListOptions{Revision: revision, Exact: true})
	if err != nil {
		return err
	}
	var found *watchcache.Object
	for o := range list.Objects {
		found = o
	}
	if found == nil {
		return status.ObjectNotFound(t.Ref)
	}
	return h.respondObject(w, r, t, f, http.StatusOK, found.JSON)
}
