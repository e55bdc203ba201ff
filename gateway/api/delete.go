package api

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/garbage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	options, err := parseDeleteOptions(w, r, t.Resource)
	if err != nil {
		return err
	}
	f, err := h.negotiate(r, t, response.Object)
	if err != nil {
		return err
	}
	warnOfOrphans(w, t.Resource, options)
	ctx, cancel := context.WithTimeout(h.clientContext(w, r), request.Timeout)
	defer cancel()
	deleted, err := h.Store.Delete(ctx, t, options)
	if err != nil {
		return err
	}
	object, err := deleted.Object(t)
	switch {
	case err != nil:
		return err
	case deleted.Kept() && options.OrphanDependents != nil && !*options.OrphanDependents: //nolint:staticcheck // old clients send it
		return h.respondObject(w, r, t, f, http.StatusAccepted, object)
	case object != nil:
		return h.respondObject(w, r, t, f, http.StatusOK, object)
	}
	success := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: t.Scope.Name, Group: t.Resource.Group, Kind: t.Resource.Plural, UID: deleted.UID}}
	respondStatus(w, r, f, success)
	return nil
}

// serveDeleteCollection deletes the objects that a list would show, and responds with them as they were. If that fails in the middle,
// or takes too long, a warning says how many objects were deleted.
func (h *Handler) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	params, f, err := h.listOptions(w, r, t, response.List)
	if err != nil {
		return err
	}
	options, err := parseDeleteOptions(w, r, t.Resource)
	if err != nil {
		return err
	}
	warnOfOrphans(w, t.Resource, options)
	params.Account = h.Watches.Account(r)
	defer params.Account.Release()
	ctx, cancel := context.WithTimeout(h.clientContext(w, r), request.Timeout)
	defer cancel()
	list, deleted, err := h.Store.DeleteCollection(ctx, t, params, options)
	if err != nil {
		if deleted > 0 {
			response.Warn(w, fmt.Sprintf("objects deleted before the request failed: %d", deleted))
		}
		return err
	}
	return h.respondList(ctx, w, r, t, f, list)
}

// warnOfOrphans warns a client that gives no propagation policy, and may not expect that dependents stay.
func warnOfOrphans(w http.ResponseWriter, res *resource.Resource, options *metav1.DeleteOptions) {
	if res.DeletionWarning != "" && garbage.PropagationOf(options) == "" {
		response.Warn(w, res.DeletionWarning)
	}
}
