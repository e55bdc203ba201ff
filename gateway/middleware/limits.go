package middleware

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// maxQuery bounds the query of a URL, in bytes.
const maxQuery = 32 << 10

// MaxHeaders bounds how many values the headers of a request have in all. A browser behind several proxies sends some fifty.
const MaxHeaders = 256

// LimitHeaders refuses requests with more than MaxHeaders. http.Server limits their bytes.
func LimitHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count := 0
		for _, values := range r.Header {
			count += len(values)
		}
		if count > MaxHeaders {
			response.WriteError(w, r, status.Error(http.StatusRequestHeaderFieldsTooLarge, "RequestHeaderFieldsTooLarge",
				fmt.Sprintf("the request has %d headers: %d at most", count, MaxHeaders)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// LimitQuery refuses queries that are too long or malformed. From here on request.Query has what was parsed.
func LimitQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > maxQuery {
			response.WriteError(w, r, status.BadRequest("the query is longer than %d bytes", maxQuery))
			return
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			response.WriteError(w, r, status.BadRequest("the query is malformed: %v", err))
			return
		}
		r.Form = query
		next.ServeHTTP(w, r)
	})
}

// LimitTime ends a request after the timeout that it asks for. A watch has timeoutSeconds for that.
func (c *Chain) LimitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := request.Query(r).Get("timeout")
		if text == "" || access.InfoOf(r).IsStream() {
			next.ServeHTTP(w, r)
			return
		}
		timeout, err := time.ParseDuration(text)
		if err != nil {
			c.Responder.Error(w, r, status.BadRequest("invalid timeout specified in the request URL - %v", err))
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

// RefuseImpersonation refuses impersonation (kubectl --as), because the request would run with more rights than asked for if the headers
// were ignored.
func RefuseImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				response.Forbidden(w, r, "impersonation is not supported: ask with the credential of whom it is about")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
