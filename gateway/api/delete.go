package api

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request, t catalog.Target) {
	options, err := parseDeleteOptions(w, r, t.Resource)
	var f response.Representation
	if err == nil {
		f, err = h.negotiateForm(r, response.Object)
	}
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.RequestTimeout)
	defer cancel()
	kept, uid, err := h.Store.Delete(ctx, t, options)
	switch {
	case err != nil:
		h.Responder.Error(w, r, err)
	case kept != nil && options.OrphanDependents != nil && !*options.OrphanDependents: //nolint:staticcheck // old clients send it
		h.respondObject(w, r, t, f, http.StatusAccepted, kept)
	case kept != nil:
		h.respondObject(w, r, t, f, http.StatusOK, kept)
	default:
		status := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
			Name: t.Scope.Name, Group: t.Resource.Group, Kind: t.Resource.Plural, UID: uid}}
		response.WriteJSON(w, r, http.StatusOK, encoding.AppendStatus(nil, status))
	}
}

// serveDeleteCollection deletes the objects that a list would show, and returns them as they were. If that fails in the middle, or
// takes too long, a warning says how many objects were deleted.
func (h *Handler) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t catalog.Target) {
	params, f, err := h.listOptions(r, response.List)
	var options *metav1.DeleteOptions
	if err == nil {
		options, err = parseDeleteOptions(w, r, t.Resource)
	}
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.RequestTimeout)
	defer cancel()
	list, deleted, err := h.Store.DeleteCollection(ctx, t, params, options)
	if err != nil {
		if deleted > 0 {
			response.Warn(w, fmt.Sprintf("objects deleted before the request failed: %d", deleted))
		}
		h.Responder.Error(w, r, err)
		return
	}
	h.writeList(w, r, t, f, list)
}
