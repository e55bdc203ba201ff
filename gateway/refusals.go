package gateway

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/watchcache"
)

// Why requests are not let in, as labels of a metric. What is wrong with a request in itself is counted by its code alone.
const (
	refusedHost            = "host"
	refusedOrigin          = "origin"
	refusedUnauthenticated = "unauthenticated"
	refusedForbidden       = "forbidden"
	refusedWatches         = "too_many_watches"
	refusedRanges          = "too_many_ranges"
	refusedShutdown        = "shutdown"
	refusedNotReady        = "not_ready"
	refusedTooLarge        = "too_large"
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

// refusalOf is empty for what is no refusal.
func refusalOf(err error) string {
	var notReady *watchcache.NotReadyError
	switch {
	case errors.Is(err, errTooManyWatches):
		return refusedWatches
	case errors.Is(err, errTooManyRanges):
		return refusedRanges
	case errors.Is(err, errDraining), errors.Is(err, watchcache.ErrStopped):
		return refusedShutdown
	case errors.As(err, &notReady):
		return refusedNotReady
	case toStatus(err).Code == http.StatusRequestEntityTooLarge:
		return refusedTooLarge
	}
	return ""
}
