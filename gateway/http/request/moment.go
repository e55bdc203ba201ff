package request

import (
	"context"
	"net/http"
	"time"

	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
)

// ResolveTime returns the revision that the keys with some prefixes had at a time, and the time of that state. The error is a Status if the time is
// in the future, a *timeline.BeforeError, or one of the store.
func ResolveTime(ctx context.Context, line *timeline.Timeline, prefixes []string, t keyrange.Time) (timeline.Point, error) {
	now := time.Now()
	when := t.Of(now)
	if when.After(now) {
		return timeline.Point{}, status.BadRequest("at=%s is in the future: it is %s", when.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return line.At(ctx, prefixes, when)
}

// ParseAt reads the parameter at= of a read or a watch of resources, which takes the place of resourceVersion; the zero Moment: there is none. The error
// is a Status.
func ParseAt(r *http.Request) (keyrange.Moment, error) {
	query := Query(r)
	given, ok := query["at"]
	if !ok {
		return keyrange.Moment{}, nil
	}
	m, err := momentOf("at", given[0])
	if err != nil {
		return m, err
	}
	if m == (keyrange.Moment{}) {
		return m, status.BadRequest("at= is empty: want a revision such as 4711, a time such as 2026-11-21T10:00:00Z, or one ago such as -10m")
	}
	for _, other := range []string{"resourceVersion", "resourceVersionMatch", "continue", "sendInitialEvents"} {
		if query.Get(other) != "" {
			return m, status.BadRequest("at= and %s= are given: leave one of them out", other)
		}
	}
	return m, nil
}

// momentOf reads a parameter that names a revision or a time.
func momentOf(name, text string) (keyrange.Moment, error) {
	m, err := keyrange.ParseMoment(text)
	if err != nil {
		return m, status.BadRequest("%s=%.64q: %v", name, text, err)
	}
	return m, nil
}
