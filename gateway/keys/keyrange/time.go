package keyrange

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Time is a time in the past: a point in time, or a duration before now.
type Time struct {
	Point time.Time
	Ago   time.Duration // zero: it is Point
}

// Of returns the point in time.
func (t Time) Of(now time.Time) time.Time {
	if t.Ago > 0 {
		return now.Add(-t.Ago)
	}
	return t.Point
}

// at reads the parameter at=: a revision, a negative duration, or a point in time (RFC 3339).
func (p *parser) at(q *Query) {
	switch text := p.values.Get("at"); {
	case strings.HasPrefix(text, "-"):
		ago, err := parseDuration(text[1:])
		if err != nil {
			p.refuse("at", "want a time ago, such as -10m or -1h30m: %v", err)
		}
		q.AtTime = &Time{Ago: ago}
	case strings.ContainsAny(text, "-:T"):
		text = strings.ReplaceAll(text, " ", "+") // a query decodes the plus of a time zone as a space
		point, err := time.Parse(time.RFC3339, text)
		if wrong := (*time.ParseError)(nil); errors.As(err, &wrong) {
			where := strings.TrimPrefix(wrong.Message, ": ") // the part that is out of range
			if where == "" {
				where = fmt.Sprintf("it cannot be read from character %d on", len(text)-len(wrong.ValueElem)+1)
			}
			p.refuse("at", "want a revision, a time such as 2026-11-21T10:00:00Z, or one ago such as -10m: %s", where)
		}
		q.AtTime = &Time{Point: point}
	default:
		if _, err := parseDuration(text); err == nil {
			p.refuse("at", "want a revision, or a time ago, which begins with a minus: -%s", text)
			return
		}
		q.At = p.revision("at")
	}
}
