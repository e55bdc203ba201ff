package middleware

import (
	"net/http"
	"strings"

	"revtail/gateway/access"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/http/request"
)

// ShareRequests gives each request a seat among those in flight, and its user a share of them. Watches and long polls need none, because
// they are open for long and do little; health, metrics and the console are answered always.
func (c *Chain) ShareRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !needsSeats(r) {
			next.ServeHTTP(w, r)
			return
		}
		flow := access.AccountOf(r)
		seats, err := c.Flows.Requests.Acquire(r.Context(), flow, 1)
		if err != nil {
			c.Responder.Error(w, r, err)
			return
		}
		defer seats.Release()
		if r.Method != http.MethodGet {
			startBodyTimeout(w, r) // again, because the request may have waited
			r = r.WithContext(flowcontrol.WithUser(r.Context(), flow))
		}
		next.ServeHTTP(w, r)
	})
}

// ShareForwarded is ShareRequests for requests that another server answers. One that lasts as long as its client wants has the seat of a watch.
func (c *Chain) ShareForwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pool := c.Flows.Requests
		if request.WantsUpgrade(r) || access.InfoOf(r).IsLongRunning() {
			pool = c.Flows.Watches
		}
		seats, err := pool.Acquire(r.Context(), access.AccountOf(r), 1)
		if err != nil {
			c.Responder.Error(w, r, err)
			return
		}
		defer seats.Release()
		next.ServeHTTP(w, r)
	})
}

// needsSeats reports whether a request reads or writes data, and ends soon.
func needsSeats(r *http.Request) bool {
	path, query := r.URL.Path, request.Query(r)
	if r.Method == http.MethodGet && (query.Has("watch") || query.Has("wait") || strings.Contains(path, "/watch/")) {
		info := access.InfoOf(r)
		if info.IsStream() || info.Keys != nil && info.Keys.Wait > 0 {
			return false
		}
	}
	return strings.HasPrefix(path, "/api") || strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/openapi/")
}
