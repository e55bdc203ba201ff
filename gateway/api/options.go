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

// listOptions reads the query of a list or a watch, and the representation that its client asks for.
func (h *Handler) listOptions(r *http.Request, kind response.Kind) (request.ListOptions, response.Representation, error) {
	p, err := request.ParseListOptions(r, kind == response.Watch)
	if err == nil {
		p.Filter, err = filterOf(h.Filters, request.Query(r))
	}
	if err != nil {
		return p, response.Representation{}, err
	}
	f, err := h.negotiate(r, kind)
	return p, f, err
}

// negotiate returns the representation of a response, with the projection that fields= selects. It refuses a filter for one object,
// because that would be ignored.
func (h *Handler) negotiate(r *http.Request, kind response.Kind) (response.Representation, error) {
	query := request.Query(r)
	if kind == response.Object && query.Get("filter") != "" {
		return response.Representation{}, status.BadRequest("filter is for lists and watches: ask for a list, which fieldSelector=metadata.name=NAME makes one of a single object")
	}
	fields, err := h.Filters.ObjectFields(strings.Join(query["fields"], ","))
	if err != nil {
		return response.Representation{}, err
	}
	f, err := response.Negotiate(r, kind)
	if err == nil && fields != nil && f.As != "" {
		err = status.BadRequest("fields is for objects as they are, and Accept asks for a %s: leave one of them out", f.As)
	}
	f.Fields = fields
	return f, err
}

// filterOf returns the filter of a list or a watch; nil: it has none.
func filterOf(filters *filter.Cache, query url.Values) (*filter.Filter, error) {
	given := query["filter"]
	if len(given) > 1 {
		return nil, status.BadRequest("filter is given %d times: join the expressions by &&", len(given))
	}
	return filters.Objects(strings.Join(given, ""))
}
