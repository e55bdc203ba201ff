package api

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// locate finds the served resource that a path names. False: it found none and has answered, with 404, or with 429 while the
// definitions are still being read.
func (h *Handler) locate(w http.ResponseWriter, r *http.Request, p request.Path) (catalog.Target, bool) {
	t := catalog.Target{Ref: resource.Ref{Scope: resource.Scope{Namespace: p.Namespace, Name: p.Name}, Subresource: p.Subresource}}
	plural := p.Resource
	// /namespaces/{name} has a route of its own, but a namespace's subresources look like resources in it.
	if plural == "status" && t.Scope.Namespace != "" && t.Scope.Name == "" {
		plural, t.Subresource = "namespaces", "status"
		t.Scope = resource.Scope{Name: t.Scope.Namespace}
	}
	if c := access.CallerOf(r); c != nil {
		if err := c.Matches(t.Ref, p.Group, plural); err != nil {
			h.Responder.Error(w, r, err)
			return catalog.Target{}, false
		}
	}
	complete := h.Catalog.Complete() // asked first: what is defined by then is in now
	now := h.Catalog.Current()
	t.Resource = now.Registry.Lookup(p.Group, p.Version, plural)
	if t.Resource == nil {
		var err error = catalog.ErrIncomplete
		if complete {
			t.Resource, now, err = h.Catalog.WaitForCRD(r.Context(), p.Group, p.Version, plural)
		}
		if err != nil {
			h.Responder.Error(w, r, err)
			return catalog.Target{}, false
		}
	}
	if t.Resource == nil || t.Misplaced() {
		response.NotFound(w, r)
		return catalog.Target{}, false
	}
	if err := errors.Join(checkMount(t.Ref, r.Method), h.Claim.CheckMethod(r.Method)); err != nil {
		h.Responder.Error(w, r, err)
		return catalog.Target{}, false
	}
	if t.Resource.Deprecation != "" {
		response.Warn(w, t.Resource.Deprecation)
	}
	t.Cache, t.Fields = now.Caches[t.Resource].Cache, now.Caches[t.Resource].Fields
	return t, true
}

// WhenComplete answers 429 for a document of all resources until every resource is known.
func (h *Handler) WhenComplete(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Catalog.Complete() {
			h.Responder.Error(w, r, catalog.ErrIncomplete)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkMount refuses writes to a read-only mount, and names of objects that no key can have.
func checkMount(ref resource.Ref, method string) error {
	if ref.Resource.Mount == nil {
		return nil
	}
	if ref.Resource.ReadOnly && method != http.MethodGet {
		return &apierrors.StatusError{ErrStatus: *status.New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
			"%s can be read only: it shows the keys below %q, which other programs write; writable: true among the mounts of the configuration changes that",
			ref.Resource.QualifiedName(), ref.Resource.Mount.KeyPrefix()))}
	}
	if ref.Scope.Name == "" {
		return nil
	}
	if _, ok := ref.Resource.Mount.Key(ref.Scope); !ok {
		return status.ObjectNotFound(ref)
	}
	return nil
}
