package gateway

import "net/http"

// serveWatch checks the query of a watch and follows it. An error before the first byte is a Status with its HTTP code; a later
// one is an ERROR frame.
func (h *apiHandler) serveWatch(w http.ResponseWriter, r *http.Request, t target) {
	params, f, err := h.listOptions(r, aWatch)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	query, err := h.store.watchQuery(r.Context(), t, params)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	start := watchStart{
		resource: t.Resource.QualifiedName(), cache: t.cache, query: query, encoder: kubernetesEncoder{f.view(t.Resource)}, bookmarks: params.bookmarks, bookmarkEvery: bookmarkPeriod,
		deadline: deadlineAfter(params.timeout), fail: h.responder.fail, done: func() {},
	}
	if f.events {
		h.watches.asEventStream(w, &start)
	}
	h.watches.follow(w, r, start)
}
