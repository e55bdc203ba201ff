package api

import (
	"net/http"

	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache/filter"
)

// Handler serves the resource API, /api and /apis: one method for each verb.
type Handler struct {
	Catalog   *catalog.Catalog
	Store     *storage.Store
	Responder *response.Responder
	Access    *access.Control
	Filters   *filter.Cache
	Claim     *claim.Claim // nil: the data is revtail's own
	Version   string       // of the program; empty: unknown
	Watches   *watch.Service
}

// ServeResource serves a URL of a resource.
func (h *Handler) ServeResource(w http.ResponseWriter, r *http.Request, p request.Path) {
	t, ok := h.locate(w, r, p)
	switch {
	case !ok:
	case t.Scope.Name == "":
		h.serveCollection(w, r, t)
	case t.Subresource != "" && !t.HasSubresource():
		h.Responder.Error(w, r, status.NoSubresource(t.Ref))
	default:
		h.serveObject(w, r, t)
	}
}

func (h *Handler) serveCollection(w http.ResponseWriter, r *http.Request, t catalog.Target) {
	everywhere := t.Resource.Namespaced && t.Scope.Namespace == ""
	switch {
	case r.Method == http.MethodGet && request.Bool(request.Query(r), "watch"):
		h.serveWatch(w, r, t)
	case r.Method == http.MethodGet:
		h.serveList(w, r, t)
	case r.Method == http.MethodPost && everywhere:
		response.NotFound(w, r) // an object is created in a namespace
	case r.Method == http.MethodPost:
		h.serveWrite(w, r, t, h.Store.Create)
	case r.Method == http.MethodDelete && !everywhere: // one request does not empty all namespaces
		h.serveDeleteCollection(w, r, t)
	case r.Method == http.MethodPut, r.Method == http.MethodPatch:
		h.Responder.Error(w, r, status.BadRequest("name must be provided: this URL is a collection"))
	default:
		response.MethodNotAllowed(w, r, t.Methods())
	}
}

// serveObject serves the URL of an object or of a subresource.
func (h *Handler) serveObject(w http.ResponseWriter, r *http.Request, t catalog.Target) {
	switch {
	case r.Method == http.MethodGet:
		h.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		h.serveWrite(w, r, t, h.Store.Update)
	case r.Method == http.MethodPatch:
		h.serveWrite(w, r, t, h.Store.Patch)
	case r.Method == http.MethodDelete && t.Subresource == "":
		h.serveDelete(w, r, t)
	default:
		response.MethodNotAllowed(w, r, t.Methods())
	}
}

// ServeLegacyWatch watches what a URL below /watch names.
func (h *Handler) ServeLegacyWatch(w http.ResponseWriter, r *http.Request, p request.Path) {
	if t, ok := h.locate(w, r, p); ok {
		h.serveWatch(w, r, t)
	}
}
