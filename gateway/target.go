package gateway

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/selector"
)

// target is what a request is about.
type target struct {
	resource.Ref
	cache  *watchcache.Cache
	fields fieldManagers
}

// target finds what a URL speaks of; false: nothing, and the answer (404, or 429 while that is not known yet) has been given.
func (s *Server) target(w http.ResponseWriter, r *http.Request) (target, bool) {
	param := func(name string) string { return chi.URLParam(r, name) }
	t := target{Ref: resource.Ref{Scope: resource.Scope{Namespace: param("namespace"), Name: param("name")}, Subresource: param("subresource")}}
	plural := param("resource")
	// /namespaces/{name} has a place of its own among the routes, but a namespace's subresources look like resources in it.
	if plural == "status" && t.Scope.Namespace != "" && t.Scope.Name == "" {
		plural, t.Subresource = "namespaces", "status"
		t.Scope = resource.Scope{Name: t.Scope.Namespace}
	}
	if c := callerOf(r); c != nil {
		if err := c.covers(t.Ref, param("group"), plural); err != nil {
			s.responder.fail(w, r, err)
			return target{}, false
		}
	}
	complete := s.catalog.complete() // asked first: what is defined by then is in now
	now := s.catalog.current()
	t.Resource = now.registry.Lookup(param("group"), param("version"), plural)
	if t.Resource == nil {
		var err error = errDiscoveryIncomplete
		if complete {
			t.Resource, now, err = s.catalog.waitForCRD(r.Context(), param("group"), param("version"), plural)
		}
		if err != nil {
			s.responder.fail(w, r, err)
			return target{}, false
		}
	}
	if t.Resource == nil || t.Misplaced() {
		notFound(w, r)
		return target{}, false
	}
	if err := errors.Join(t.checkMount(r.Method), s.options.Claim.CheckMethod(r.Method)); err != nil {
		s.responder.fail(w, r, err)
		return target{}, false
	}
	if t.Resource.Deprecation != "" {
		warn(w, t.Resource.Deprecation)
	}
	t.cache, t.fields = now.caches[t.Resource].Cache, now.caches[t.Resource].fields
	return t, true
}

// whenComplete holds back documents that name every resource until they do.
func (s *Server) whenComplete(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.catalog.complete() {
			s.responder.fail(w, r, errDiscoveryIncomplete)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// key is the etcd key of the object that the request is about, or of another one of the same resource.
func (s *Server) key(t target, scope resource.Scope) string {
	return t.Resource.Key(s.options.Prefix, scope)
}

func (s *Server) serveCollection(w http.ResponseWriter, r *http.Request) {
	t, ok := s.target(w, r)
	if !ok {
		return
	}
	if t.Subresource != "" {
		s.serveTarget(w, r, t)
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.serveListOrWatch(w, r, t)
	case http.MethodPost:
		if t.Resource.Namespaced && t.Scope.Namespace == "" {
			notFound(w, r) // an object is created in a namespace
			return
		}
		s.serveCreate(w, r, t)
	case http.MethodDelete:
		if t.Resource.Namespaced && t.Scope.Namespace == "" {
			refuseMethod(w, r, t.Methods()) // nobody empties all namespaces at once
			return
		}
		s.serveDeleteCollection(w, r, t)
	case http.MethodPut, http.MethodPatch:
		s.responder.fail(w, r, badRequest("name must be provided: this URL is a collection"))
	default:
		refuseMethod(w, r, t.Methods())
	}
}

func (s *Server) serveObject(w http.ResponseWriter, r *http.Request) {
	if t, ok := s.target(w, r); ok {
		s.serveTarget(w, r, t)
	}
}

func (s *Server) serveSubresource(w http.ResponseWriter, r *http.Request) {
	t, ok := s.target(w, r)
	if !ok {
		return
	}
	if !t.HasSubresource() {
		s.responder.fail(w, r, noSubresource(t.Ref))
		return
	}
	s.serveTarget(w, r, t)
}

// serveTarget answers for one object, or its status.
func (s *Server) serveTarget(w http.ResponseWriter, r *http.Request, t target) {
	switch {
	case r.Method == http.MethodGet:
		s.serveGet(w, r, t)
	case r.Method == http.MethodPut:
		s.serveUpdate(w, r, t)
	case r.Method == http.MethodPatch:
		s.servePatch(w, r, t)
	case r.Method == http.MethodDelete && t.Subresource == "":
		s.serveDelete(w, r, t)
	default:
		refuseMethod(w, r, t.Methods())
	}
}

func (s *Server) serveLegacyWatch(w http.ResponseWriter, r *http.Request) {
	t, ok := s.target(w, r)
	if !ok {
		return
	}
	s.serveWatch(w, r, t)
}

// checkFields refuses a field selector on what no object of the resource can have.
func (t target) checkFields(s *selector.Selector) error {
	if t.Resource.Schema == nil {
		return nil
	}
	for _, path := range s.Fields() {
		if path[0] != "metadata" && !t.Resource.Schema.Selectable(path) {
			return badRequest("field label not supported: %s", strings.Join(path, "."))
		}
	}
	return nil
}
