package gateway

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"revtail/etcdstore"
)

// queryOf is the query of a request, for reading only. Much of a request asks for it, and what parsing leaves behind would lie
// among what a watch holds for as long as it lasts.
func queryOf(r *http.Request) url.Values {
	if r.Form == nil { // nothing has come through limitQuery
		return r.URL.Query()
	}
	return r.Form
}

// intParam reads an integer parameter; one that is not there is zero, and one that is empty is none.
func intParam(query url.Values, name string) (int64, error) {
	values, ok := query[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, badRequest("%v", err)
	}
	return n, nil
}

// parseRevision reads a resourceVersion. unset tells the empty one, "whatever is newest now", from zero, "any".
func parseRevision(text string) (revision etcdstore.Revision, unset bool, err error) {
	if text == "" {
		return 0, true, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > math.MaxInt64 {
		err = &strconv.NumError{Func: "ParseUint", Num: text, Err: strconv.ErrRange}
	}
	if err != nil {
		return 0, false, badRequest("invalid resource version: resourceVersion: Invalid value: %q: %v", text, err)
	}
	return etcdstore.Revision(n), false, nil
}

// parseBool is how Kubernetes reads a boolean parameter: all but 0 and false is true, the empty value too.
func parseBool(text string) bool { return text != "0" && !strings.EqualFold(text, "false") }

// boolParam reads a boolean parameter; one that is not there is false.
func boolParam(query url.Values, name string) bool {
	values, ok := query[name]
	return ok && parseBool(values[0])
}

// isLongRunning reports whether a request is a watch or a long poll, whose duration says nothing about the gateway. It reads the raw
// query, because it is called before the query is parsed.
func isLongRunning(r *http.Request) bool {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "wait" || name == "watch" && parseBool(value) {
			return true
		}
	}
	return strings.Contains(r.URL.Path, "/watch/")
}
