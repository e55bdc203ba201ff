package request

import (
	"context"
	"net/http"
	"time"
)

type headKey struct{}

// HeadIsGet makes handlers see HEAD as GET. net/http drops the body that they write.
func HeadIsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// IsHead reports whether the method is HEAD, so that no body is sent.
func IsHead(r *http.Request) bool { return r.Context().Value(headKey{}) != nil }

// Timeout limits every request that is not a watch.
const Timeout = 60 * time.Second
