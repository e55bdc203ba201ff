package request

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"revtail/etcdstore"
	"revtail/gateway/http/status"
)

// Query is the query of a request, for reading only. Much of a request asks for it, and what parsing leaves behind would lie
// among what a watch holds for as long as it lasts.
func Query(r *http.Request) url.Values {
	if r.Form == nil { // nothing has come through middleware.LimitQuery
		return r.URL.Query()
	}
	return r.Form
}

// Int reads an integer parameter; one that is not there is zero, and one that is empty is none.
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

// ParseRevision reads a resourceVersion. unset tells the empty one, "whatever is newest now", from zero, "any".
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

// ParseBool is how Kubernetes reads a boolean parameter: all but 0 and false is true, the empty value too.
func ParseBool(text string) bool { return text != "0" && !strings.EqualFold(text, "false") }

// Bool reads a boolean parameter; one that is not there is false.
func Bool(query url.Values, name string) bool {
	values, ok := query[name]
	return ok && ParseBool(values[0])
}

// IsLongRunning reports whether a request is a watch or a long poll, whose duration says nothing about the gateway. It reads the raw
// query, because it is called before the query is parsed.
func IsLongRunning(r *http.Request) bool {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "wait" || name == "watch" && ParseBool(value) {
			return true
		}
	}
	return strings.Contains(r.URL.Path, "/watch/")
}
