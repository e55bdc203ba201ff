package api

import (
	"net/http"

	"revtail/gateway/api/catalog"
	"revtail/gateway/http/response"
	"revtail/gateway/watch"
)

// serveWatch checks the query of a watch and serves the watch until it ends. An error before the first byte is a Status with its HTTP
// code; a later one is an ERROR event.
func (h *Handler) serveWatch(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	params, f, err := h.listOptions(r, response.Watch)
	if err != nil {
		return err
	}
	query, err := h.Store.WatchQuery(r.Context(), t, params)
	if err != nil {
		return err
	}
	start := watch.Start{
		Resource: t.Resource.QualifiedName(), Cache: t.Cache.Cache, Query: query, Encoder: encoder{f.View(t.Resource)},
		Bookmarks: params.Bookmarks, BookmarkEvery: watch.BookmarkPeriod,
		Deadline: watch.DeadlineAfter(params.Timeout), Fail: h.Responder.Error, Done: func() {},
	}
	if f.EventStream {
		h.Watches.AsEventStream(w, &start)
	}
	h.Watches.Follow(w, r, start)
	return nil
}
