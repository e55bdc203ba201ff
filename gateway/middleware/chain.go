package middleware

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"revtail/gateway/http/response"
	"revtail/gateway/metrics"
)

// Chain holds the configuration of the middleware. The fields are not changed after the first request.
type Chain struct {
	Responder    *response.Responder        // answers errors and counts refusals
	Logger       *slog.Logger               // logs panics
	Requests     *metrics.Requests          // counts requests
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
