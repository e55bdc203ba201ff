package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/access/serviceaccount"
	"revtail/gateway/api/apiservices"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/changes"
	"revtail/gateway/api/forms"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/resource"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache/filter"
)

// Handler serves the resource API, /api and /apis, and the documents that describe it.
type Handler struct {
	Catalog     *catalog.Catalog
	APIServices *apiservices.Services
	Store       *storage.Store
	Responder   *response.Responder
	Access      *access.Control
	Tokens      *serviceaccount.Issuer // nil: none are issued
	Flows       *flowcontrol.Pools
	Filters     *filter.Cache
	Claim       *claim.Claim                 // nil: the data is revtail's own
	OpenKey     func(verb, key string) error // as keys.Handler has it
	Build       buildinfo.Info               // of the program
	Watches     *watch.Service
	Timeline    *timeline.Timeline // for reads at a time
	Forms       forms.Store
	History     *changes.Source // nil: none is recorded
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
	case t.Resource.Group == "" && slices.Contains(kubelets[t.Resource.Plural], t.Subresource):
		err = notImplemented(t.Ref)
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
	writeOnly := t.Subresource == resource.FinalizeSubresource
	switch {
	case t.ViewKind().Virtual && r.Method == http.MethodPost:
		return h.serveVirtual(w, r, t)
	case t.ViewKind().Virtual:
	case r.Method == http.MethodGet && !writeOnly:
		return h.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		return h.serveWrite(w, r, t, h.Store.Update)
	case r.Method == http.MethodPatch && !writeOnly:
		return h.serveWrite(w, r, t, h.Store.Patch)
	case r.Method == http.MethodDelete && t.Subresource == "":
		return h.serveDelete(w, r, t)
	}
	response.MethodNotAllowed(w, r, t.Methods())
	return nil
}

// serveVirtual serves a POST to a subresource that is not stored.
func (h *Handler) serveVirtual(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	switch t.Subresource {
	case resource.BindingSubresource:
		return h.serveBinding(w, r, t)
	case resource.EvictionSubresource:
		return h.serveEviction(w, r, t)
	}
	return h.serveToken(w, r, t)
}

// locate returns the served resource that a request names. Until all definitions are read, a resource that is not served yet is an error
// with which clients try again.
func (h *Handler) locate(w http.ResponseWriter, r *http.Request, info *request.Info) (catalog.Target, error) {
	t := catalog.Target{Ref: resource.Ref{Scope: info.Scope, Subresource: info.Attributes.Subresource}}
	plural := info.Attributes.Resource
	complete := h.Catalog.Complete() // before Current, whose snapshot then has all definitions
	now := h.Catalog.Current()
	if t.Resource = now.Registry.Lookup(info.Group, info.Version, plural); t.Resource == nil {
		if !complete {
			return t, catalog.ErrIncomplete
		}
		var err error
		if t.Resource, now, err = h.Catalog.WaitForCRD(r.Context(), info.Group, info.Version, plural); err != nil {
			return t, err
		}
	}
	if t.Resource == nil || t.Misplaced() {
		return t, errNotFound
	}
	if err := errors.Join(checkMount(t.Ref, r.Method), h.Claim.CheckMethod(r.Method)); err != nil {
		return t, err
	}
	if t.Resource.Deprecation != "" {
		response.Warn(w, t.Resource.Deprecation)
	}
	t.Cache = now.Caches[t.Resource]
	h.APIServices.Await(r.Context(), t.Resource)
	verb := info.Attributes.Verb
	return t, t.Cache.DemandFor(r.Context(), verb == "get" || verb == "list")
}

// WhenComplete responds with 429 to a request for a document of all resources until all definitions are read.
func (h *Handler) WhenComplete(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Catalog.Complete() {
			h.Responder.Error(w, r, catalog.ErrIncomplete)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkMount refuses a write to a read-only mount, and the name of an object that no key can have.
func checkMount(ref resource.Ref, method string) error {
	if ref.Resource.Mount == nil {
		return nil
	}
	if ref.Resource.ReadOnly && method != http.MethodGet {
		return status.Error(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
			"%s can be read only: it shows the keys below %q, which other programs write; writable: true among the mounts of the configuration changes that",
			ref.Resource.QualifiedName(), ref.Resource.Mount.KeyPrefix()))
	}
	if ref.Scope.Name == "" {
		return nil
	}
	if _, ok := ref.Resource.Mount.Key(ref.Scope); !ok {
		return status.ObjectNotFound(ref)
	}
	return nil
}
