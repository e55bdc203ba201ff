package gateway

import (
	"net/http"

	"revtail/gateway/claim"
	"revtail/gateway/watchcache/filter"
)

// apiHandler serves the resource API, /api and /apis: one method for each verb.
type apiHandler struct {
	catalog   *catalog
	store     *store
	responder *responder
	access    *control
	filters   *filter.Cache
	claim     *claim.Claim // nil: the data is revtail's own
	version   string       // of the program; empty: unknown
	watches   *watchService
}

func (h *apiHandler) serveCollection(w http.ResponseWriter, r *http.Request, p requestPath) {
	t, ok := h.locate(w, r, p)
	if !ok {
		return
	}
	if t.Subresource != "" {
		h.serveTarget(w, r, t)
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.serveListOrWatch(w, r, t)
	case http.MethodPost:
		if t.Resource.Namespaced && t.Scope.Namespace == "" {
			notFound(w, r) // an object is created in a namespace
			return
		}
		h.serveCreate(w, r, t)
	case http.MethodDelete:
		if t.Resource.Namespaced && t.Scope.Namespace == "" {
			refuseMethod(w, r, t.Methods()) // one request does not empty all namespaces
			return
		}
		h.serveDeleteCollection(w, r, t)
	case http.MethodPut, http.MethodPatch:
		h.responder.fail(w, r, badRequest("name must be provided: this URL is a collection"))
	default:
		refuseMethod(w, r, t.Methods())
	}
}

func (h *apiHandler) serveObject(w http.ResponseWriter, r *http.Request, p requestPath) {
	if t, ok := h.locate(w, r, p); ok {
		h.serveTarget(w, r, t)
	}
}

func (h *apiHandler) serveSubresource(w http.ResponseWriter, r *http.Request, p requestPath) {
	t, ok := h.locate(w, r, p)
	if !ok {
		return
	}
	if !t.HasSubresource() {
		h.responder.fail(w, r, noSubresource(t.Ref))
		return
	}
	h.serveTarget(w, r, t)
}

// serveTarget answers requests for one object, or for a subresource of one.
func (h *apiHandler) serveTarget(w http.ResponseWriter, r *http.Request, t target) {
	switch {
	case r.Method == http.MethodGet:
		h.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		h.serveUpdate(w, r, t)
	case r.Method == http.MethodPatch:
		h.servePatch(w, r, t)
	case r.Method == http.MethodDelete && t.Subresource == "":
		h.serveDelete(w, r, t)
	default:
		refuseMethod(w, r, t.Methods())
	}
}

func (h *apiHandler) serveLegacyWatch(w http.ResponseWriter, r *http.Request, p requestPath) {
	t, ok := h.locate(w, r, p)
	if !ok {
		return
	}
	h.serveWatch(w, r, t)
}
