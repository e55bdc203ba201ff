package api

import (
	"errors"
	"net/http"

	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache/filter"
)

// Handler serves the resource API, /api and /apis, and the documents that describe it.
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

// ServeResource serves the URL of a collection, an object or a subresource.
func (h *Handler) ServeResource(w http.ResponseWriter, r *http.Request) {
	info := access.InfoOf(r)
	t, err := h.locate(w, r, info)
	switch {
	case err != nil:
	case info.IsStream():
		err = h.serveWatch(w, r, t)
	case t.Scope.Name == "":
		err = h.serveCollection(w, r, t)
	case t.Subresource != "" && !t.HasSubresource():
		err = status.NoSubresource(t.Ref)
	default:
		err = h.serveObject(w, r, t)
	}
	h.fail(w, r, err)
}

// errNotFound is the error of a URL that names nothing. Its response is plain text, because client-go knows this text.
var errNotFound = errors.New("the URL names nothing")

// fail responds with the error of a handler; nil: the handler has responded.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errNotFound):
		response.NotFound(w, r)
	default:
		h.Responder.Error(w, r, err)
	}
}

func (h *Handler) serveCollection(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	everywhere := t.Resource.Namespaced && t.Scope.Namespace == ""
	switch {
	case r.Method == http.MethodGet:
		return h.serveList(w, r, t)
	case r.Method == http.MethodPost && everywhere:
		return errNotFound // an object is created in a namespace
	case r.Method == http.MethodPost:
		return h.serveWrite(w, r, t, h.Store.Create)
	case r.Method == http.MethodDelete && !everywhere: // one request does not empty all namespaces
		return h.serveDeleteCollection(w, r, t)
	case r.Method == http.MethodPut, r.Method == http.MethodPatch:
		return status.BadRequest("name must be provided: this URL is a collection")
	}
	response.MethodNotAllowed(w, r, t.Methods())
	return nil
}

// serveObject serves the URL of an object or of a subresource.
func (h *Handler) serveObject(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	switch {
	case r.Method == http.MethodGet:
		return h.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		return h.serveWrite(w, r, t, h.Store.Update)
	case r.Method == http.MethodPatch:
		return h.serveWrite(w, r, t, h.Store.Patch)
	case r.Method == http.MethodDelete && t.Subresource == "":
		return h.serveDelete(w, r, t)
	}
	response.MethodNotAllowed(w, r, t.Methods())
	return nil
}
