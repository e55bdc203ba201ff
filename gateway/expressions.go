package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"revtail/gateway/watchcache/filter"
)

// filterOf is the filter of a request for a list or a watch; nil: it has none.
func filterOf(filters *filter.Cache, query url.Values) (*filter.Filter, error) {
	given := query["filter"]
	if len(given) > 1 {
		return nil, badRequest("filter is given %d times: join the expressions by &&", len(given))
	}
	return filters.Objects(strings.Join(given, ""))
}

// listParams reads the query of a list or a watch, its filter with it.
func (s *Server) listParams(r *http.Request, watch bool) (listParams, error) {
	p, err := parseListParams(r, watch)
	if err == nil {
		p.filter, err = filterOf(s.filters, queryOf(r))
	}
	return p, err
}

// negotiateForm finds the form of an answer, and what of its objects fields= wants to see. Where it is of one object, the client
// must not believe that a filter counts.
func (s *Server) negotiateForm(r *http.Request, about subject) (form, error) {
	query := queryOf(r)
	if about == anObject && query.Get("filter") != "" {
		return form{}, badRequest("filter is for lists and watches: ask for a list, which fieldSelector=metadata.name=NAME makes one of a single object")
	}
	fields, err := s.filters.ObjectFields(strings.Join(query["fields"], ","))
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

// negotiate finds out whether a client can read the answer to a write or a get, whatever form it asks for.
func (s *Server) negotiate(r *http.Request) error {
	_, err := s.negotiateForm(r, anObject)
	return err
}
