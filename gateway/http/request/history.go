package request

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"revtail/gateway/access/authorization"
	"revtail/gateway/config/suggest"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
)

// HistoryPath is the path of the recorded changes of objects.
const HistoryPath = "/v1/history"

// HistoryExportPath is the path of all that is recorded.
const HistoryExportPath = HistoryPath + "/export"

// HistoryOptions are the query parameters of HistoryPath that select changes of the objects that Info names.
type HistoryOptions struct {
	Since, Until keyrange.Moment // both inclusive; zero: without bound
	Limit        int             // of changes; zero: none
	Descending   bool            // the newest change first
	Previous     bool            // also the states before
	Manager      string          // of managedFields, whose changes are selected; empty: of all
	Count        time.Duration   // changes are counted in intervals of this length, and Limit is one of intervals; zero: they are returned
}

// historyParameters are all that the query may have.
var historyParameters = []string{"resource", "group", "version", "namespace", "name", "filter", "manager", "since", "until", "order", "limit", "previous", "count"}

// ParseHistoryOptions reads and checks the query. The error is a Status.
func ParseHistoryOptions(r *http.Request) (o HistoryOptions, err error) {
	query := Query(r)
	if query.Has("key") || query.Has("key64") {
		return o, status.BadRequest("%s has the changes of resources and mounts, and none of other keys: GET /v1/keys/app/a?at=4711 reads the state of a key at a revision or time, and ?watch&since=4711 its changes", HistoryPath)
	}
	for name := range query {
		if !slices.Contains(historyParameters, name) {
			return o, status.BadRequest("%.64q is no parameter of %s: want %s%s", name, HistoryPath, strings.Join(historyParameters, ", "), suggest.DidYouMean(name, historyParameters))
		}
	}
	if query.Get("resource") == "" {
		return o, status.BadRequest("resource= is missing: want the plural of a resource, such as resource=configmaps, or resource=deployments&group=apps")
	}
	for _, name := range []string{"namespace", "name"} {
		if strings.Contains(query.Get(name), "/") {
			return o, status.BadRequest("%s=%.64q: want a name, which has no slash", name, query.Get(name))
		}
	}
	if o.Since, err = momentOf("since", query.Get("since")); err != nil {
		return o, err
	}
	if o.Until, err = momentOf("until", query.Get("until")); err != nil {
		return o, err
	}
	switch order := query.Get("order"); order {
	case "", "asc":
	case "desc":
		o.Descending = true
	default:
		return o, status.BadRequest("order=%.64q: want asc, the oldest change first, or desc, the newest one first", order)
	}
	limit, err := Int(query, "limit")
	if err != nil || limit < 0 {
		return o, cmp.Or(err, status.BadRequest("limit=%d: want a number of changes, or 0 for all", limit))
	}
	o.Limit, o.Previous, o.Manager = int(min(limit, maxHistory)), Bool(query, "previous"), query.Get("manager")
	o.Count, err = parseCount(query)
	return o, err
}

// parseCount reads the length of the intervals in which changes are counted; zero: there is none. Counting reads no states.
func parseCount(query url.Values) (time.Duration, error) {
	if !query.Has("count") {
		return 0, nil
	}
	for _, name := range []string{"filter", "manager", "previous", "order"} {
		if query.Has(name) {
			return 0, status.BadRequest("count= and %s= are given: leave one of them out, because changes are counted in the order of revisions, without their states", name)
		}
	}
	length, err := time.ParseDuration(query.Get("count"))
	if err != nil || length < time.Second {
		return 0, status.BadRequest("count=%.64q: want the length of an interval of at least 1s, such as 10m or 24h", query.Get("count"))
	}
	return length, nil
}

// maxHistory keeps a limit within an int.
const maxHistory = 1 << 30

// parseHistory reads the objects that the query names. Their history may be read by whom they may be: one object with the verb get, a collection
// with the verb list.
func (i *Info) parseHistory(r *http.Request) {
	query := Query(r)
	i.Group, i.Version = query.Get("group"), query.Get("version")
	i.Scope.Namespace, i.Scope.Name = query.Get("namespace"), query.Get("name")
	a := authorization.Attributes{
		Verb: verbs[r.Method], Group: i.Group, Version: i.Version, Resource: query.Get("resource"), Namespace: i.Scope.Namespace, Name: i.Scope.Name,
	}
	if a.Verb == "get" && a.Name == "" {
		a.Verb = "list"
	}
	if a.Resource == "" {
		a = authorization.Attributes{Verb: strings.ToLower(r.Method), Path: r.URL.Path} // it is refused
	}
	i.Attributes = a
}
