package gateway

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// locate finds the served resource that a path names. False: it found none and has answered, with 404, or with 429 while the
// definitions are still being read.
func (h *apiHandler) locate(w http.ResponseWriter, r *http.Request, p requestPath) (target, bool) {
	t := target{Ref: resource.Ref{Scope: resource.Scope{Namespace: p.Namespace, Name: p.Name}, Subresource: p.Subresource}}
	plural := p.Resource
	// /namespaces/{name} has a route of its own, but a namespace's subresources look like resources in it.
	if plural == "status" && t.Scope.Namespace != "" && t.Scope.Name == "" {
		plural, t.Subresource = "namespaces", "status"
		t.Scope = resource.Scope{Name: t.Scope.Namespace}
	}
	if c := callerOf(r); c != nil {
		if err := c.covers(t.Ref, p.Group, plural); err != nil {
			h.responder.fail(w, r, err)
			return target{}, false
		}
	}
	complete := h.catalog.complete() // asked first: what is defined by then is in now
	now := h.catalog.current()
	t.Resource = now.registry.Lookup(p.Group, p.Version, plural)
	if t.Resource == nil {
		var err error = errDiscoveryIncomplete
		if complete {
			t.Resource, now, err = h.catalog.waitForCRD(r.Context(), p.Group, p.Version, plural)
		}
		if err != nil {
			h.responder.fail(w, r, err)
			return target{}, false
		}
	}
	if t.Resource == nil || t.Misplaced() {
		notFound(w, r)
		return target{}, false
	}
	if err := errors.Join(checkMount(t.Ref, r.Method), h.claim.CheckMethod(r.Method)); err != nil {
		h.responder.fail(w, r, err)
		return target{}, false
	}
	if t.Resource.Deprecation != "" {
		warn(w, t.Resource.Deprecation)
	}
	t.cache, t.fields = now.caches[t.Resource].Cache, now.caches[t.Resource].fields
	return t, true
}

// whenComplete answers 429 for a document of all resources until every resource is known.
func (h *apiHandler) whenComplete(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.catalog.complete() {
			h.responder.fail(w, r, errDiscoveryIncomplete)
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
		return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
			"%s can be read only: it shows the keys below %q, which other programs write; writable: true among the mounts of the configuration changes that",
			ref.Resource.QualifiedName(), ref.Resource.Mount.KeyPrefix()))}
	}
	if ref.Scope.Name == "" {
		return nil
	}
	if _, ok := ref.Resource.Mount.Key(ref.Scope); !ok {
		return objectNotFound(ref)
	}
	return nil
}
