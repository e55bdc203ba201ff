package middleware

import (
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	w3c "go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"revtail/gateway/access"
	"revtail/gateway/http/response"
)

// untraced are the paths without traces, because probes and scrapers request them all the time.
var untraced = append([]string{"/metrics"}, access.HealthPaths...)

// Trace starts a span for each request, as a child of the client's span if the request names one (W3C Trace Context). The span of a watch ends
// when its header has been sent, see EndSpan. The span has the path of the URL but not the query, because a query may hold a ticket.
func (c *Chain) Trace(next http.Handler) http.Handler {
	if c.Tracing == nil {
		return next
	}
	tracer := c.Tracing.Tracer("revtail/gateway")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(untraced, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		ctx := w3c.TraceContext{}.Extract(r.Context(), w3c.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		if !span.IsRecording() {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path))
		recorded, w := response.Record(w)
		status := http.StatusInternalServerError // if the handler panics
		defer func() { c.endSpan(r, span, status) }()
		next.ServeHTTP(w, r.WithContext(ctx))
		status = max(recorded.Status, http.StatusOK)
	})
}

// EndSpan ends the span of a watch, with status 200. The caller calls it when the header of the watch has been sent.
func (c *Chain) EndSpan(r *http.Request) {
	c.endSpan(r, trace.SpanFromContext(r.Context()), http.StatusOK)
}

// endSpan sets the route and the status of a span and ends the span. It does nothing if the span has ended.
func (c *Chain) endSpan(r *http.Request, span trace.Span, status int) {
	if !span.IsRecording() {
		return
	}
	if route := c.Route(r); route != "" {
		span.SetName(r.Method + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}
