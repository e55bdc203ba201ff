package gateway

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
)

func (h *apiHandler) serveDelete(w http.ResponseWriter, r *http.Request, t target) {
	options, err := parseDeleteOptions(w, r, t.Resource)
	var f form
	if err == nil {
		f, err = h.negotiateForm(r, anObject)
	}
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	kept, uid, err := h.store.delete(ctx, t, options)
	switch {
	case err != nil:
		h.responder.fail(w, r, err)
	case kept != nil && options.OrphanDependents != nil && !*options.OrphanDependents: //nolint:staticcheck // old clients send it
		h.respondObject(w, r, t, f, http.StatusAccepted, kept)
	case kept != nil:
		h.respondObject(w, r, t, f, http.StatusOK, kept)
	default:
		status := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
			Name: t.Scope.Name, Group: t.Resource.Group, Kind: t.Resource.Plural, UID: uid}}
		respond(w, r, http.StatusOK, encoding.AppendStatus(nil, status))
	}
}

// serveDeleteCollection deletes the objects that a list would show, and returns them as they were. If that fails in the middle, or
// takes too long, a warning says how many objects were deleted.
func (h *apiHandler) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t target) {
	params, f, err := h.listOptions(r, aList)
	var options *metav1.DeleteOptions
	if err == nil {
		options, err = parseDeleteOptions(w, r, t.Resource)
	}
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	list, deleted, err := h.store.deleteCollection(ctx, t, params, options)
	if err != nil {
		if deleted > 0 {
			warn(w, fmt.Sprintf("objects deleted before the request failed: %d", deleted))
		}
		h.responder.fail(w, r, err)
		return
	}
	h.writeList(w, r, t, f, list)
}
