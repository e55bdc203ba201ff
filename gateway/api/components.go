package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"revtail/encoding"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// components are the components whose ComponentStatuses are read: etcd is the store of all requests.
func (h *Handler) components() *kinds.Components {
	return kinds.NewComponents(func(ctx context.Context) error {
		_, err := h.Store.Etcd.Revision(ctx)
		return err
	})
}

// serveComponents serves the ComponentStatuses, which are made for each request.
func (h *Handler) serveComponents(w http.ResponseWriter, r *http.Request, res *resource.Resource, components *kinds.Components) error {
	info := access.InfoOf(r)
	if r.Method != http.MethodGet || info.IsStream() {
		response.MethodNotAllowed(w, r, "GET, HEAD")
		return nil
	}
	response.Warn(w, res.Deprecation)
	w.Header().Set("Cache-Control", "no-store")
	t := catalog.Target{Ref: resource.Ref{Resource: res, Scope: info.Scope}}
	if t.Scope.Name == "" {
		return h.serveComponentList(w, r, t, components)
	}
	f, err := h.negotiate(r, t, response.Object)
	if err != nil {
		return err
	}
	found, err := components.Get(r.Context(), t.Scope.Name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return h.respondObject(w, r, t, f, http.StatusOK, text)
}

func (h *Handler) serveComponentList(w http.ResponseWriter, r *http.Request, t catalog.Target, components *kinds.Components) error {
	params, f, err := h.listOptions(w, r, t, response.List)
	if err == nil && params.Filter != nil {
		err = status.BadRequest("filter is for objects that are stored, which a ComponentStatus is not: leave it out")
	}
	if err == nil {
		params.Selector, err = request.SelectorOf(t.Resource, params.Selector)
	}
	if err != nil {
		return err
	}
	found, err := components.List(r.Context())
	if err != nil {
		return err
	}
	selected, err := selectComponents(found, params)
	if err != nil {
		return err
	}
	params.Account = h.Watches.Account(r)
	defer params.Account.Release()
	list := &watchcache.List{Revision: notStored, Objects: slices.Values(selected), Turn: params.Account.Turn()}
	return h.respondList(r.Context(), w, r, t, f, list)
}

// notStored is the revision of a list of objects that etcd does not have.
const notStored = -1

// component is a document with the name by which it is selected.
type component struct {
	*watchcache.Object
	name string
}

// Name implements selector.Object.
func (c component) Name() string { return c.name }

// selectComponents returns the documents of those that a list selects.
func selectComponents(all []*corev1.ComponentStatus, by request.ListOptions) (selected []*watchcache.Object, err error) {
	for _, status := range all {
		text, err := json.Marshal(status)
		if err != nil {
			return nil, err
		}
		o := &watchcache.Object{Object: encoding.Object{JSON: text}}
		if by.Selector.Matches(component{o, status.Name}) {
			selected = append(selected, o)
		}
	}
	return selected, nil
}
