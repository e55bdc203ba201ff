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

// serveResource serves a URL of a resource.
func (h *apiHandler) serveResource(w http.ResponseWriter, r *http.Request, p requestPath) {
	t, ok := h.locate(w, r, p)
	switch {
	case !ok:
	case t.Scope.Name == "":
		h.serveCollection(w, r, t)
	case t.Subresource != "" && !t.HasSubresource():
		h.responder.fail(w, r, noSubresource(t.Ref))
	default:
		h.serveObject(w, r, t)
	}
}

func (h *apiHandler) serveCollection(w http.ResponseWriter, r *http.Request, t target) {
	everywhere := t.Resource.Namespaced && t.Scope.Namespace == ""
	switch {
	case r.Method == http.MethodGet && boolParam(queryOf(r), "watch"):
		h.serveWatch(w, r, t)
	case r.Method == http.MethodGet:
		h.serveList(w, r, t)
	case r.Method == http.MethodPost && everywhere:
		notFound(w, r) // an object is created in a namespace
	case r.Method == http.MethodPost:
		h.serveWrite(w, r, t, h.store.create)
	case r.Method == http.MethodDelete && !everywhere: // one request does not empty all namespaces
		h.serveDeleteCollection(w, r, t)
	case r.Method == http.MethodPut, r.Method == http.MethodPatch:
		h.responder.fail(w, r, badRequest("name must be provided: this URL is a collection"))
	default:
		refuseMethod(w, r, t.Methods())
	}
}

// serveObject serves the URL of an object or of a subresource.
func (h *apiHandler) serveObject(w http.ResponseWriter, r *http.Request, t target) {
	switch {
	case r.Method == http.MethodGet:
		h.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		h.serveWrite(w, r, t, h.store.update)
	case r.Method == http.MethodPatch:
		h.serveWrite(w, r, t, h.store.patch)
	case r.Method == http.MethodDelete && t.Subresource == "":
		h.serveDelete(w, r, t)
	default:
		refuseMethod(w, r, t.Methods())
	}
}

// serveLegacyWatch watches what a URL below /watch names.
func (h *apiHandler) serveLegacyWatch(w http.ResponseWriter, r *http.Request, p requestPath) {
	if t, ok := h.locate(w, r, p); ok {
		h.serveWatch(w, r, t)
	}
}
