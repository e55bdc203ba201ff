package gateway

import (
	"net/http"
	"strings"
	"time"
)

// count counts requests for /metrics.
func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded := &recorder{ResponseWriter: w}
		began := time.Now()
		broken := true
		defer func() {
			code := max(recorded.status, http.StatusOK)
			if broken && recorded.status == 0 {
				code = http.StatusInternalServerError
			}
			s.requests.Done(r.Method, code, time.Since(began), isLong(r))
		}()
		next.ServeHTTP(recorded, r)
		broken = false
	})
}

// isLong tells whether a request is one whose time says nothing about the gateway.
func isLong(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, "watch=") || strings.Contains(r.URL.Path, "/watch/")
}
