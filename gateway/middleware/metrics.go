package middleware

import (
	"net/http"
	"time"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// CountRequests counts requests for /metrics, by method and code, with the duration of all but watches and long polls. A panic before the
// header counts as 500.
func (c *Chain) CountRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded, w := response.Record(w)
		began := time.Now()
		broken := true
		defer func() {
			code := max(recorded.Status, http.StatusOK)
			if broken && recorded.Status == 0 {
				code = http.StatusInternalServerError
			}
			c.Requests.Done(r.Method, code, time.Since(began), request.IsLongRunning(r))
		}()
		next.ServeHTTP(w, r)
		broken = false
	})
}
