package gateway

import (
	"github.com/prometheus/client_golang/prometheus"
)

// newRefusals counts requests that are not let in. Every reason is there from the start: a rate knows nothing of a first one.
func newRefusals() *prometheus.CounterVec {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "revtail_requests_refused_total", Help: "Requests that were not let in, by reason.",
	}, []string{"reason"})
	for _, reason := range []string{refusedHost, refusedOrigin, refusedUnauthenticated, refusedForbidden, refusedWatches, refusedRanges, refusedShutdown, refusedNotReady, refusedTooLarge} {
		refusals.WithLabelValues(reason)
	}
	return refusals
}

// refuse counts an error that a request is answered with, if it is a refusal.
func (a *responder) refuse(err error) {
	if reason := refusalOf(err); reason != "" {
		a.refused.WithLabelValues(reason).Inc()
	}
}
