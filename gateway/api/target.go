package api

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

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
	return t, nil
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
