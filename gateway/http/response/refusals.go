package response

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/http/status"
)

// newRefusals counts requests that are not let in. Every reason is there from the start: a rate knows nothing of a first one.
func newRefusals() *prometheus.CounterVec {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "revtail_requests_refused_total", Help: "Requests that were not let in, by reason.",
	}, []string{"reason"})
	for _, reason := range []string{status.RefusedHost, status.RefusedOrigin, status.RefusedUnauthenticated, status.RefusedForbidden, status.RefusedWatches, status.RefusedRanges, status.RefusedShutdown, status.RefusedNotReady, status.RefusedTooLarge} {
		refusals.WithLabelValues(reason)
	}
	return refusals
}

// Count counts an error that a request is answered with, if it is a refusal.
func (a *Responder) Count(err error) {
	if reason := status.Refusal(err); reason != "" {
		a.Refused.WithLabelValues(reason).Inc()
	}
}
