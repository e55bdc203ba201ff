package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxQuery bounds the query of a URL, in bytes.
const maxQuery = 32 << 10

// maxHeaders bounds how many values the headers of a request have in all. A browser behind several proxies sends some fifty.
const maxHeaders = 256

// limitHeaders refuses requests with more of them. How many bytes they have is bounded before.
func limitHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count := 0
		for _, values := range r.Header {
			count += len(values)
		}
		if count > maxHeaders {
			writeStatus(w, r, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusRequestHeaderFieldsTooLarge, "RequestHeaderFieldsTooLarge",
				fmt.Sprintf("the request has %d headers: %d at most", count, maxHeaders))})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitQuery refuses queries that are too long or malformed. From here on queryOf has what was parsed.
func limitQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > maxQuery {
			writeStatus(w, r, badRequest("the query is longer than %d bytes", maxQuery))
			return
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			writeStatus(w, r, badRequest("the query is malformed: %v", err))
			return
		}
		r.Form = query
		next.ServeHTTP(w, r)
	})
}

// limitTime ends a request after the timeout that it asks for. A watch has timeoutSeconds for that.
func (c *chain) limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := queryOf(r)
		text := query.Get("timeout")
		if text == "" || r.Method == http.MethodGet && boolParam(query, "watch") {
			next.ServeHTTP(w, r)
			return
		}
		timeout, err := time.ParseDuration(text)
		if err != nil {
			c.responder.fail(w, r, badRequest("invalid timeout specified in the request URL - %v", err))
			return
		}
		if timeout > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), timeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// refuseImpersonation refuses to act for somebody else (kubectl --as): who asks so wants no more done than that one may do.
func refuseImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				forbid(w, r, "impersonation is not supported: ask with the credential of whom it is about")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
