package status

import (
	"errors"
	"net/http"

	"revtail/gateway/watchcache"
)

// Reasons for which requests are refused, as labels of a metric. Requests that are wrong in themselves are counted by their code alone.
const (
	RefusedHost            = "host"
	RefusedOrigin          = "origin"
	RefusedUnauthenticated = "unauthenticated"
	RefusedForbidden       = "forbidden"
	refusedWatches         = "too_many_watches"
	refusedRanges          = "too_many_ranges"
	refusedShutdown        = "shutdown"
	refusedNotReady        = "not_ready"
	refusedTooLarge        = "too_large"
)

// Refusals are all reasons.
var Refusals = []string{RefusedHost, RefusedOrigin, RefusedUnauthenticated, RefusedForbidden, refusedWatches, refusedRanges, refusedShutdown, refusedNotReady, refusedTooLarge}

// Refusal returns the reason for which an error refuses a request; empty: the error is no refusal.
func Refusal(err error) string {
	var notReady *watchcache.NotReadyError
	switch {
	case errors.Is(err, ErrTooManyWatches):
		return refusedWatches
	case errors.Is(err, ErrTooManyRanges):
		return refusedRanges
	case errors.Is(err, ErrDraining), errors.Is(err, watchcache.ErrStopped):
		return refusedShutdown
	case errors.As(err, &notReady):
		return refusedNotReady
	case Of(err).Code == http.StatusRequestEntityTooLarge:
		return refusedTooLarge
	}
	return ""
}
