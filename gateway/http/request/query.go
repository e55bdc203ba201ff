package request

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"revtail/etcdstore"
	"revtail/gateway/access/authentication"
	"revtail/gateway/http/status"
)

// Query returns the query of a request, which the caller does not modify. middleware.LimitQuery parses it once, because each parse
// allocates memory that an idle watch would hold.
func Query(r *http.Request) url.Values {
	if r.Form == nil { // the request has not passed middleware.LimitQuery
		return r.URL.Query()
	}
	return r.Form
}

// Int reads an integer parameter. A missing one is zero, and an empty one is an error.
func Int(query url.Values, name string) (int64, error) {
	values, ok := query[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, status.BadRequest("%v", err)
	}
	return n, nil
}

// ParseRevision reads a resourceVersion. unset: it is empty, which asks for the newest state, where zero asks for any.
func ParseRevision(text string) (revision etcdstore.Revision, unset bool, err error) {
	if text == "" {
		return 0, true, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > math.MaxInt64 {
		err = &strconv.NumError{Func: "ParseUint", Num: text, Err: strconv.ErrRange}
	}
	if err != nil {
		return 0, false, status.BadRequest("invalid resource version: resourceVersion: Invalid value: %q: %v", text, err)
	}
	return etcdstore.Revision(n), false, nil
}

// ParseBool reads a boolean parameter as Kubernetes does: every value but 0 and false is true, the empty one too.
func ParseBool(text string) bool { return text != "0" && !strings.EqualFold(text, "false") }

// Bool reads a boolean parameter. A missing one is false.
func Bool(query url.Values, name string) bool {
	values, ok := query[name]
	return ok && ParseBool(values[0])
}

// secretNames are parts of the names of query parameters that no log may hold. Only the ticket is read from URLs, but some clients send
// tokens there.
var secretNames = []string{authentication.TicketParameter, "token", "authorization", "password", "secret"}

// Redact returns a query without its secrets, for a log. The case of a name does not matter, because a client may have misspelt it.
func Redact(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "malformed"
	}
	hidden := false
	for name := range values {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(lower, part) }) {
			values.Set(name, "hidden")
			hidden = true
		}
	}
	if hidden {
		return values.Encode()
	}
	return query
}
