package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"revtail/gateway/metrics"
)

// chain is what every request passes before it reaches a route.
type chain struct {
	responder    *responder
	logger       *slog.Logger
	requests     *metrics.Requests
	tracing      trace.TracerProvider       // nil: no traces
	route        func(*http.Request) string // the pattern of the route that a request took
	writeTimeout time.Duration              // how long a client may take nothing of an answer
	anonymous    bool                       // requests without a credential are let in
	origins      []string                   // of pages that may read and write here
	hosts        []string                   // names of this server beside localhost
}

// identify gives every answer a number of its own and the headers that all answers have.
func (c *chain) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Audit-Id", uuid.NewString())
		h.Set("Cache-Control", "no-cache, private")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
