package status

import (
	"errors"
	"net/http"
	"slices"

	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/watchcache"
)

// Reasons for which requests are refused, as labels of a metric. Requests that are wrong in themselves are counted by their code alone.
const (
	RefusedHost            = "host"
	RefusedOrigin          = "origin"
	RefusedUnauthenticated = "unauthenticated"
	RefusedForbidden       = "forbidden"
	refusedShutdown        = "shutdown"
	refusedNotReady        = "not_ready"
	refusedTooLarge        = "too_large"
)

// Refusals are all reasons.
var Refusals = slices.Concat(
	[]string{RefusedHost, RefusedOrigin, RefusedUnauthenticated, RefusedForbidden, refusedShutdown, refusedNotReady, refusedTooLarge}, refusedFlows())

// tooMany precedes the resource of which a user has its share.
const tooMany = "too_many_"

func refusedFlows() (reasons []string) {
	for _, resource := range flowcontrol.Resources {
		reasons = append(reasons, tooMany+resource)
	}
	return reasons
}

// Refusal returns the reason for which an error refuses a request; empty: the error is no refusal.
func Refusal(err error) string {
	var notReady *watchcache.NotReadyError
	var rejected *flowcontrol.RejectedError
	switch {
	case errors.As(err, &rejected):
		return tooMany + rejected.Resource
	case errors.Is(err, ErrDraining), errors.Is(err, watchcache.ErrStopped):
		return refusedShutdown
	case errors.As(err, &notReady):
		return refusedNotReady
	case Of(err).Code == http.StatusRequestEntityTooLarge:
		return refusedTooLarge
	}
	return ""
}
