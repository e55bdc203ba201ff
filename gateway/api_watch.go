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
		resource: t.Resource.QualifiedName(), cache: t.cache, query: query, frames: kubernetesFrames{f.view(t.Resource)}, marks: params.bookmarks, every: bookmarkEvery,
		deadline: deadline(params), fail: h.responder.fail, done: func() {},
	}
	if f.events {
		start.frames, start.fail = h.events(w, start.frames, params.bookmarks, h.responder.fail)
		start.marks, start.every = true, heartbeatEvery
	}
	h.follow(w, r, start)
}
