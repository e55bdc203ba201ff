package api

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access"
	"revtail/gateway/api/changes"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
)

// ServeHistory serves request.HistoryPath: the recorded changes of objects, one a line, and what is recorded as the last line.
func (h *Handler) ServeHistory(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, h.serveHistory(w, r))
}

// ServeHistoryExport serves request.HistoryExportPath: all that is recorded.
func (h *Handler) ServeHistoryExport(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, h.History.Export(w, r, h.Responder.Compressors, h.Store.Logger))
}

func (h *Handler) serveHistory(w http.ResponseWriter, r *http.Request) error {
	if h.History == nil {
		return changes.ErrNone
	}
	o, err := request.ParseHistoryOptions(r)
	if err != nil {
		return err
	}
	info := *access.InfoOf(r)
	if info.Version == "" {
		info.Version = h.Catalog.Current().Registry.PreferredVersion(info.Group, info.Attributes.Resource)
	}
	t, err := h.locate(w, r, &info)
	if errors.Is(err, errNotFound) {
		err = status.Error(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("there is no resource %s in the group %q, or its objects have no such namespace", info.Attributes.Resource, info.Group))
	}
	if err != nil {
		return err
	}
	if h.Catalog.Cluster { // the webhooks of a cluster are services in it as a rule, and an answer may have thousands of states
		t.Cache = t.Cache.AsStored()
	}
	reader := changes.Reader{Source: h.History, Target: t, Root: h.Store.Prefix, Options: o, Account: h.Watches.Account(r)}
	defer reader.Account.Release()
	if reader.Filter, err = h.filterOf(r); err == nil {
		err = reader.Open(r.Context())
	}
	if err != nil {
		return err
	}
	reader.Write(w, r, h.Responder.Compressors)
	return nil
}
