package request

import "net/http"

// LastEventID is where a client of an event stream says that it stands: by the header that EventSource sends when it
// reconnects, or by the query, which a page can set when it begins. The header is the newer one.
func LastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return Query(r).Get("lastEventId")
}
