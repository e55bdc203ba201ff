package api

import (
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// History is what a journal has recorded of the store.
type History struct {
	Store    etcdstore.Store   // whose watches are answered from the journal, decrypted
	Recorder *journal.Recorder // knows what is recorded
}

var errNoHistory = status.Error(http.StatusNotImplemented, "NotImplemented",
	"this gateway keeps no history: start it with --history-dir, or ask one that does")

// ServeHistory serves request.HistoryPath: the recorded changes of objects, one a line, and what is recorded as the last line.
func (h *Handler) ServeHistory(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, h.serveHistory(w, r))
}

func (h *Handler) serveHistory(w http.ResponseWriter, r *http.Request) error {
	if h.History == nil {
		return errNoHistory
	}
	o, err := request.ParseHistoryOptions(r)
	if err != nil {
		return err
	}
	info := *access.InfoOf(r)
	info.Version = h.preferredVersion(info.Group, info.Version, info.Attributes.Resource)
	t, err := h.locate(w, r, &info)
	if errors.Is(err, errNotFound) {
		err = status.Error(http.StatusNotFound, metav1.StatusReasonNotFound, "there is no resource "+info.Attributes.Resource+" in the group "+quoteGroup(info.Group)+", or its objects have no such namespace")
	}
	if err != nil {
		return err
	}
	reader := historyReader{handler: h, target: t, options: o}
	if reader.filter, err = h.filterOf(r); err != nil {
		return err
	}
	if err := reader.open(r.Context()); err != nil {
		return err
	}
	reader.account = h.Watches.Account(r)
	defer reader.account.Release()
	reader.write(w, r)
	return nil
}

func quoteGroup(group string) string {
	if group == "" {
		return `"" (core)`
	}
	return `"` + group + `"`
}

// preferredVersion returns the version of a resource that a request names, or the preferred one if it names none.
func (h *Handler) preferredVersion(group, version, plural string) string {
	if version != "" {
		return version
	}
	registry := h.Catalog.Current().Registry
	for _, g := range resource.Groups(registry.All()) {
		for _, v := range g.Versions {
			if g.Name == group && registry.Lookup(group, v.Version, plural) != nil {
				return v.Version
			}
		}
	}
	return ""
}
