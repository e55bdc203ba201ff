package request

import (
	"context"
	"net/http"
)

type headKey struct{}

// HeadIsGet answers HEAD as GET; net/http leaves out the body.
func HeadIsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// IsHead tells whether nobody will read the body.
func IsHead(r *http.Request) bool { return r.Context().Value(headKey{}) != nil }
