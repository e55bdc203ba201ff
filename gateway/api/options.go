package api

import (
	"net/http"
	"net/url"
	"strings"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache/filter"
)

// listOptions reads the query of a list or a watch, and how its client wants the answer.
func (h *Handler) listOptions(r *http.Request, about response.Kind) (request.ListOptions, response.Representation, error) {
	p, err := request.ParseListOptions(r, about == response.Watch)
	if err == nil {
		p.Filter, err = filterOf(h.Filters, request.Query(r))
	}
	if err != nil {
		return p, response.Representation{}, err
	}
	f, err := h.negotiateForm(r, about)
	return p, f, err
}

// negotiateForm finds the form of an answer, and the fields of its objects that fields= selects. It refuses a filter for one
// object, because that would be ignored.
func (h *Handler) negotiateForm(r *http.Request, about response.Kind) (response.Representation, error) {
	query := request.Query(r)
	if about == response.Object && query.Get("filter") != "" {
		return response.Representation{}, status.BadRequest("filter is for lists and watches: ask for a list, which fieldSelector=metadata.name=NAME makes one of a single object")
	}
	fields, err := h.Filters.ObjectFields(strings.Join(query["fields"], ","))
	if err != nil {
		return response.Representation{}, err
	}
	f, err := response.NegotiateRepresentation(r, about)
	if err == nil && fields != nil && f.As != "" {
		err = status.BadRequest("fields is for objects as they are, and Accept asks for a %s: leave one of them out", f.As)
	}
	f.Fields = fields
	return f, err
}

// filterOf is the filter of a request for a list or a watch; nil: it has none.
func filterOf(filters *filter.Cache, query url.Values) (*filter.Filter, error) {
	given := query["filter"]
	if len(given) > 1 {
		return nil, status.BadRequest("filter is given %d times: join the expressions by &&", len(given))
	}
	return filters.Objects(strings.Join(given, ""))
}
