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

// Chain is the middleware of every request, and its configuration.
type Chain struct {
	Responder    *response.Responder
	Logger       *slog.Logger
	Requests     *metrics.Requests
	Tracing      trace.TracerProvider       // nil: no traces
	Route        func(*http.Request) string // the pattern of the route that a request took
	WriteTimeout time.Duration              // how long a client may take nothing of an answer
	Anonymous    bool                       // requests without a credential are let in
	Origins      []string                   // of pages that may read and write here
	Hosts        []string                   // names of this server beside localhost
}

// SetHeaders sets the headers that all responses have, and a unique Audit-Id.
func (c *Chain) SetHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Audit-Id", uuid.NewString())
		h.Set("Cache-Control", "no-cache, private")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
