package middleware

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/stranger"
)

// maxQuery is the longest query of a URL, in bytes.
const maxQuery = 32 << 10

// MaxHeaders is the largest total number of header values of a request. A browser behind several proxies sends about fifty.
const MaxHeaders = 256

// LimitHeaders answers 431 to requests with more than MaxHeaders header values. http.Server limits their bytes.
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

// LimitQuery answers 400 to queries that are longer than 32 KiB or malformed. It stores the parsed query in r.Form, where request.Query finds
// it.
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

// LimitTime ends the context of a request after its timeout parameter, a Go duration such as 30s. It answers 400 to an invalid one, and
// ignores one of zero or less. It does nothing for a watch, because a watch has timeoutSeconds.
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

// maxGetBody is the largest body of a GET that is discarded, in bytes. A larger one is answered with 413.
const maxGetBody = 64 << 10

// LimitBody sets the read deadline of a request with a body, after request.BodyTimeout. It does so for every handler, because net/http reads
// a body that the handler ignores, to find the next request.
func LimitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		startBodyTimeout(w, r)
		next.ServeHTTP(w, r)
	})
}

// DropGetBody discards the body of a GET, which has no meaning, and answers 413 if it is larger than 64 KiB or cannot be read. It runs after
// authentication, and reads no body of a stranger.
func DropGetBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Method == http.MethodGet && r.ContentLength != 0 && stranger.FromContext(r.Context()).IsKnown()
		if given && !dropBody(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// startBodyTimeout limits the time of the body from now on, if there is one.
func startBodyTimeout(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// It fails only in tests, with a ResponseWriter without deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(request.BodyTimeout(r.ContentLength)))
	}
}

// dropBody discards the body of a GET. It returns false if it has answered the request with 413, because the body was too large or could not
// be read.
func dropBody(w http.ResponseWriter, r *http.Request) bool {
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxGetBody+1))
	if err != nil || n > maxGetBody {
		// Many clients read the response only after they have sent the body.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, request.MaxDiscard))
		response.WriteError(w, r, apierrors.NewRequestEntityTooLargeError("a GET has no body"))
		return false
	}
	request.ClearBodyTimeout(w)
	return true
}

// RefuseUpgrades answers 400 to the WebSocket handshake of a request that is not a watch.
func RefuseUpgrades(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.WantsWebSocket(r) && !access.InfoOf(r).IsStream() {
			response.WriteError(w, r, status.BadRequest("a WebSocket serves watches only: add watch=true to the query"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
