package gateway

import (
	"context"
	"net/http"
)

type headKey struct{}

// headIsGet answers HEAD as GET; net/http leaves out the body.
func headIsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// isHead tells whether nobody will read the body.
func isHead(r *http.Request) bool { return r.Context().Value(headKey{}) != nil }
