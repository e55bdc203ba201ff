package status

import (
	"errors"
	"net/http"

	"revtail/gateway/watchcache"
)

// Why requests are not let in, as labels of a metric. What is wrong with a request in itself is counted by its code alone.
const (
	RefusedHost            = "host"
	RefusedOrigin          = "origin"
	RefusedUnauthenticated = "unauthenticated"
	RefusedForbidden       = "forbidden"
	RefusedWatches         = "too_many_watches"
	RefusedRanges          = "too_many_ranges"
	RefusedShutdown        = "shutdown"
	RefusedNotReady        = "not_ready"
	RefusedTooLarge        = "too_large"
)

// Refusal is empty for what is no refusal.
func Refusal(err error) string {
	var notReady *watchcache.NotReadyError
	switch {
	case errors.Is(err, ErrTooManyWatches):
		return RefusedWatches
	case errors.Is(err, ErrTooManyRanges):
		return RefusedRanges
	case errors.Is(err, ErrDraining), errors.Is(err, watchcache.ErrStopped):
		return RefusedShutdown
	case errors.As(err, &notReady):
		return RefusedNotReady
	case Of(err).Code == http.StatusRequestEntityTooLarge:
		return RefusedTooLarge
	}
	return ""
}
