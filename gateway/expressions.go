package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/encoding"
	"revtail/gateway/watchcache/filter"
)

// expressions are what clients say in filter= and fields=.
type expressions struct {
	objects, keys *filter.Dialect

	ofObjects texts[filter.Filter]
	ofKeys    texts[filter.Filter]
	fields    texts[encoding.Projection] // of objects
	keyFields texts[encoding.Projection] // of the documents of keys
}

// alwaysShown are the fields that objects keep in every projection: without them a client cannot tell what it has, nor go on.
var alwaysShown = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion"}

func newExpressions() *expressions {
	e := &expressions{objects: filter.Objects(), keys: filter.Keys()}
	e.ofObjects.make, e.ofKeys.make = e.objects.Compile, e.keys.Compile
	e.fields.make = func(text string) (*encoding.Projection, error) { return encoding.ParseProjection(text, alwaysShown...) }
	e.keyFields.make = func(text string) (*encoding.Projection, error) {
		p, err := encoding.ParseProjection(text)
		if err != nil {
			return nil, err
		}
		return p.Within("value"), nil
	}
	return e
}

// of returns what a text stands for; nil: there is none. The error is one for fail.
func (t *texts[T]) of(text string) (*T, error) {
	if text == "" {
		return nil, nil
	}
	value, err := t.get(text)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return value, nil
}

// filterOf is the filter of a request for a list or a watch; nil: it has none.
func (e *expressions) filterOf(query url.Values) (*filter.Filter, error) {
	given := query["filter"]
	if len(given) > 1 {
		return nil, badRequest("filter is given %d times: join the expressions by &&", len(given))
	}
	return e.ofObjects.of(strings.Join(given, ""))
}

// collectors show how often filters were compiled and evaluated.
func (e *expressions) collectors() (out []prometheus.Collector) {
	for name, d := range map[string]*filter.Dialect{"objects": e.objects, "keys": e.keys} {
		counter := func(metric, help string, value func() uint64) {
			out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metric, Help: help, ConstLabels: prometheus.Labels{"of": name}},
				func() float64 { return float64(value()) }))
		}
		counter("revtail_filters_compiled_total", "Filters that were compiled: equal ones once.", d.Compiled)
		counter("revtail_filter_evaluations_total",
			"How often a filter was asked about an object or an event: once for each state of an event, whatever the number of watches.", d.Evaluated)
	}
	return out
}

// listParams reads the query of a list or a watch, its filter with it.
func (s *Server) listParams(r *http.Request, watch bool) (listParams, error) {
	p, err := parseListParams(r, watch)
	if err == nil {
		p.filter, err = s.expressions.filterOf(queryOf(r))
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
	fields, err := s.expressions.fields.of(strings.Join(query["fields"], ","))
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

// projectedView shows of objects what the client wants to see.
type projectedView struct {
	plainView
	fields *encoding.Projection
}

func (v projectedView) object(doc []byte) []byte { return v.fields.Project(doc) }

func (v projectedView) item(doc []byte) []byte { return v.fields.Project(doc) }
