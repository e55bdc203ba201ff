package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/metrics"
)

// Chain holds the configuration of the middleware. The fields are not changed after the first request.
type Chain struct {
	Responder    *response.Responder        // answers errors and counts refusals
	Logger       *slog.Logger               // logs panics
	Requests     *metrics.Requests          // counts requests
	Flows        *flowcontrol.Pools         // share the requests in flight
	Tracing      trace.TracerProvider       // makes spans; nil: no spans
	Route        func(*http.Request) string // returns the pattern of the route that matched a request; empty: none
	WriteTimeout time.Duration              // how long a client may take no byte of a response
	Anonymous    bool                       // requests without a credential are accepted
	Origins      []string                   // of other pages that may read and write, such as https://example.com
	Hosts        []string                   // names of this server besides localhost, in lower case
}

// SetHeaders sets the headers of all responses, among them a unique Audit-Id. Handlers may replace them.
func (c *Chain) SetHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Audit-Id", uuid.NewString())
		h.Set("Cache-Control", "no-cache, private")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// CountRequests counts requests for /metrics, by method and code, with the duration of all but opened watches and long polls. A panic before the
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
			c.Requests.Done(r.Method, code, time.Since(began), recorded.LongRunning)
		}()
		next.ServeHTTP(w, r)
		broken = false
	})
}

// RecoverPanic logs a panic of a handler and answers the request with 500. If the header has been sent, RecoverPanic panics with
// http.ErrAbortHandler instead: net/http then breaks the connection or stream, because the client must not take the response for complete.
// It does not log http.ErrAbortHandler.
func (c *Chain) RecoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, w := response.Record(w)
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // intended: the connection must break
			}
			response.LogPanic(c.Logger, reason, "method", r.Method, "path", r.URL.Path)
			if begun.Status != 0 {
				panic(http.ErrAbortHandler)
			}
			c.Responder.Error(w, r, status.ErrInternal)
		}()
		next.ServeHTTP(w, r)
	})
}
