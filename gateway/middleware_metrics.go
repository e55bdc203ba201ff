package gateway

import (
	"net/http"
	"time"
)

// count counts requests for /metrics.
func (c *chain) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded, w := record(w)
		began := time.Now()
		broken := true
		defer func() {
			code := max(recorded.status, http.StatusOK)
			if broken && recorded.status == 0 {
				code = http.StatusInternalServerError
			}
			c.requests.Done(r.Method, code, time.Since(began), isLongRunning(r))
		}()
		next.ServeHTTP(w, r)
		broken = false
	})
}
