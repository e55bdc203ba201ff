package api

import (
	"net/http"

	"revtail/gateway/api/catalog"
	"revtail/gateway/http/response"
	"revtail/gateway/watch"
)

// serveWatch checks the query of a watch and follows it. An error before the first byte is a Status with its HTTP code; a later
// one is an ERROR frame.
func (h *Handler) serveWatch(w http.ResponseWriter, r *http.Request, t catalog.Target) {
	params, f, err := h.listOptions(r, response.Watch)
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	query, err := h.Store.WatchQuery(r.Context(), t, params)
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	start := watch.Start{
		Resource: t.Resource.QualifiedName(), Cache: t.Cache, Query: query, Encoder: Encoder{f.View(t.Resource)}, Bookmarks: params.Bookmarks, BookmarkEvery: watch.BookmarkPeriod,
		Deadline: watch.DeadlineAfter(params.Timeout), Fail: h.Responder.Error, Done: func() {},
	}
	if f.EventStream {
		h.Watches.AsEventStream(w, &start)
	}
	h.Watches.Follow(w, r, start)
}
