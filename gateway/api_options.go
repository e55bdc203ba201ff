package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"revtail/gateway/watchcache/filter"
)

// listOptions reads the query of a list or a watch, and how its client wants the answer.
func (h *apiHandler) listOptions(r *http.Request, about subject) (listParams, form, error) {
	p, err := parseListParams(r, about == aWatch)
	if err == nil {
		p.filter, err = filterOf(h.filters, queryOf(r))
	}
	if err != nil {
		return p, form{}, err
	}
	f, err := h.negotiateForm(r, about)
	return p, f, err
}

// negotiateForm finds the form of an answer, and the fields of its objects that fields= selects. It refuses a filter for one
// object, because that would be ignored.
func (h *apiHandler) negotiateForm(r *http.Request, about subject) (form, error) {
	query := queryOf(r)
	if about == anObject && query.Get("filter") != "" {
		return form{}, badRequest("filter is for lists and watches: ask for a list, which fieldSelector=metadata.name=NAME makes one of a single object")
	}
	fields, err := h.filters.ObjectFields(strings.Join(query["fields"], ","))
	if err != nil {
		return form{}, err
	}
	f, err := negotiateForm(r, about)
	if err == nil && fields != nil && f.as != "" {
		err = badRequest("fields is for objects as they are, and Accept asks for a %s: leave one of them out", f.as)
	}
	f.fields = fields
	return f, err
}

// filterOf is the filter of a request for a list or a watch; nil: it has none.
func filterOf(filters *filter.Cache, query url.Values) (*filter.Filter, error) {
	given := query["filter"]
	if len(given) > 1 {
		return nil, badRequest("filter is given %d times: join the expressions by &&", len(given))
	}
	return filters.Objects(strings.Join(given, ""))
}
