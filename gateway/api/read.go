package api

import (
	"context"
	"net/http"

	"revtail/encoding"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	f, err := h.negotiate(r, response.Object)
	if err != nil {
		return err
	}
	revision, unset, err := request.ParseRevision(request.Query(r).Get("resourceVersion"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	object, err := h.Store.Get(ctx, t, revision, unset)
	if !unset {
		setAge(w, t)
	}
	if err == nil && (object == nil || !object.Shown()) {
		if object != nil {
			h.warnInvalid(w, t, []*watchcache.Object{object}, 1)
		}
		err = status.ObjectNotFound(t.Ref)
	}
	if err != nil {
		return err
	}
	return h.respondObject(w, r, t, f, http.StatusOK, object.JSON)
}

func (h *Handler) serveList(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	params, f, err := h.listOptions(r, response.List)
	if err != nil {
		return err
	}
	timeout := request.Timeout
	if params.HasTimeout {
		timeout = min(timeout, params.Timeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	list, err := h.Store.List(ctx, t, params)
	if err != nil {
		return err
	}
	if !params.Unset && !params.Exact && params.Continue == nil {
		setAge(w, t)
	}
	h.warnInvalid(w, t, list.Invalid, list.InvalidCount)
	h.writeList(w, r, t, f, list)
	return nil
}

// writeList writes a list, as it is read from the cache, in the representation that the client asks for.
func (h *Handler) writeList(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, list *watchcache.List) {
	meta := encoding.ListMeta{ResourceVersion: int64(list.Revision), RemainingItemCount: list.Remaining, Continue: storage.NextPage(t, list)}
	shown, written := f.View(t.Resource), f.Format(r)
	w.Header().Set("Content-Type", written.ContentType())
	p := response.NewBody(w, r, http.StatusOK, h.Responder.Compressors)
	defer p.Finish()
	if list.Text != nil && response.ServableFromCache(shown, written) {
		p.WriteList(response.NewCachedList(shown.ListHead(meta), list, socket.WriteTimeout), r)
		return
	}
	p.Bytes = written.AppendHead(p.Bytes, shown.ListHead(meta))
	empty := true
	for object := range list.Objects {
		p.Bytes = written.AppendItem(p.Bytes, shown.Item(object.JSON), empty)
		empty = false
		if p.FlushLarge() != nil {
			return
		}
	}
	p.Bytes = written.AppendTail(p.Bytes, empty)
}
