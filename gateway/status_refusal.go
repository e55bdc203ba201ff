package gateway

import (
	"errors"
	"net/http"

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
