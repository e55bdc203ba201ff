package api

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/gotype"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/pods"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// serveBindings serves the collection to which bindings are posted, each for the Pod of its name.
func (h *Handler) serveBindings(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		response.MethodNotAllowed(w, r, http.MethodPost)
		return
	}
	now := h.Catalog.Current()
	res := now.Registry.Lookup("", "v1", "pods")
	t := catalog.Target{Ref: resource.Ref{Resource: res, Scope: access.InfoOf(r).Scope, Subresource: resource.BindingSubresource}, Cache: now.Caches[res]}
	err := h.Claim.CheckMethod(r.Method)
	if err == nil {
		err = h.serveBinding(w, r, t)
	}
	h.fail(w, r, err)
}

// serveBinding binds the Pod of a URL or, if that has no name, of the binding.
func (h *Handler) serveBinding(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	return serveAction(h, w, r, t, func(ctx context.Context, actions *pods.Pods, binding *corev1.Binding, dryRun bool) error {
		if t.Scope.Name == "" {
			t.Scope.Name = binding.Name
		}
		return actions.Bind(ctx, t, binding, dryRun)
	})
}

func (h *Handler) serveEviction(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	return serveAction(h, w, r, t, func(ctx context.Context, actions *pods.Pods, eviction *policyv1.Eviction, dryRun bool) error {
		return actions.Evict(ctx, t, eviction, dryRun)
	})
}

// serveAction reads an object that is stored nowhere, has do act on it, and responds with a Status.
func serveAction[T any](h *Handler, w http.ResponseWriter, r *http.Request, t catalog.Target, do func(context.Context, *pods.Pods, *T, bool) error) error {
	wr, _, err := h.readWrite(w, r, catalog.Target{Ref: resource.Ref{Resource: t.ViewKind(), Scope: t.Scope}})
	if err != nil {
		return err
	}
	if wr.Resource == resource.EvictionKind {
		wr.Resource = evictionKind(wr)
	}
	d, err := wr.Decode()
	sendWarnings(w, wr.Warnings)
	if err == nil {
		err = object.SetNamespace(d, t.Ref)
	}
	if err == nil {
		err = h.Store.RequireNamespace(r.Context(), t.Ref)
	}
	if err != nil {
		return err
	}
	action := new(T)
	if err = gotype.Decode(d.Object, action); err != nil {
		return status.BadRequest("%v", err)
	}
	if err = do(access.ContextOf(r), &pods.Pods{Store: h.Store}, action, wr.DryRun); err != nil {
		return err
	}
	done := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	response.WriteJSON(w, r, http.StatusCreated, encoding.AppendStatus(nil, done))
	return nil
}

// evictionKind returns the kind of the eviction in a body: v1beta1 has the same fields.
func evictionKind(wr *storage.Request) *resource.Resource {
	sent, err := object.DecodeBody(resource.EvictionKind, wr.ContentType, wr.Body)
	if err == nil && sent.Object["apiVersion"] == resource.EvictionBetaKind.APIVersion() {
		return resource.EvictionBetaKind
	}
	return resource.EvictionKind
}

// kubelets are the subresources that a cluster answers with the help of a kubelet or of the network of its Pods.
var kubelets = map[string][]string{
	"pods": {"attach", "exec", "log", "portforward", "proxy"}, "services": {"proxy"}, "nodes": {"proxy"},
}

// notImplemented returns the error of a subresource that needs a running Pod.
func notImplemented(ref resource.Ref) error {
	err := status.Error(http.StatusNotImplemented, "NotImplemented", fmt.Sprintf(
		"%s/%s needs a kubelet, and revtail only stores objects: ask the kubelet or the container runtime of the node, or connect to the program itself",
		ref.Resource.Plural, ref.Subresource))
	err.ErrStatus.Details = &metav1.StatusDetails{Name: ref.Scope.Name, Kind: ref.Resource.Plural}
	return err
}
