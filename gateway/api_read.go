package gateway

import (
	"context"
	"net/http"

	"revtail/encoding"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

func (h *apiHandler) serveGet(w http.ResponseWriter, r *http.Request, t target) {
	f, err := h.negotiateForm(r, anObject)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	revision, unset, err := parseRevision(queryOf(r).Get("resourceVersion"))
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	object, err := h.store.get(ctx, t, revision, unset)
	if !unset {
		setAge(w, t)
	}
	if err == nil && (object == nil || !object.Shown()) {
		if object != nil {
			h.warnInvalid(w, t, []*watchcache.Object{object}, 1)
		}
		err = objectNotFound(t.Ref)
	}
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	h.respondObject(w, r, t, f, http.StatusOK, object.JSON)
}

func (h *apiHandler) serveList(w http.ResponseWriter, r *http.Request, t target) {
	params, f, err := h.listOptions(r, aList)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	timeout := requestTimeout
	if params.hasTimeout {
		timeout = min(timeout, params.timeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	list, err := h.store.list(ctx, t, params)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	if !params.unset && !params.exact && params.after == nil {
		setAge(w, t)
	}
	h.warnInvalid(w, t, list.Invalid, list.InvalidCount)
	h.writeList(w, r, t, f, list)
}

// writeList writes a list in the form that the client asks for, while it is read.
func (h *apiHandler) writeList(w http.ResponseWriter, r *http.Request, t target, f form, list *watchcache.List) {
	meta := encoding.ListMeta{ResourceVersion: int64(list.Revision), RemainingItemCount: list.Remaining, Continue: nextPage(t, list)}
	shown, written := f.view(t.Resource), f.format(r)
	w.Header().Set("Content-Type", written.contentType())
	p := newPayload(w, r, http.StatusOK, h.responder.compressors)
	defer p.finish()
	if list.Text != nil && verbatim(shown, written) {
		p.take(newListing(shown.listHead(meta), list, socket.WriteTimeout), r)
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
