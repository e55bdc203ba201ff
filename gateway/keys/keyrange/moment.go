package keyrange

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"revtail/etcdstore"
)

// Moment is a point in the history of an etcd: a revision, or a time. The zero Moment is none.
type Moment struct {
	Revision etcdstore.Revision
	Time     *Time // nil: the revision is given
}

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

// ParseMoment reads a revision, a negative duration, or a point in time (RFC 3339), as a query has them. The error says what is wanted.
func ParseMoment(text string) (Moment, error) {
	switch {
	case text == "":
		return Moment{}, nil
	case strings.HasPrefix(text, "-"):
		ago, err := parseDuration(text[1:])
		if err != nil {
			return Moment{}, fmt.Errorf("want a time ago, such as -10m or -1h30m: %w", err)
		}
		return Moment{Time: &Time{Ago: ago}}, nil
	case strings.ContainsAny(text, "-:T"):
		return parsePoint(text)
	}
	if _, err := parseDuration(text); err == nil {
		return Moment{}, fmt.Errorf("want a revision, or a time ago, which begins with a minus: -%s", text)
	}
	if !unicode.IsDigit([]rune(text)[0]) {
		return Moment{}, errors.New("want a revision such as 4711, a time such as 2026-11-21T10:00:00Z, or one ago such as -10m")
	}
	n, err := parseNumber(text)
	return Moment{Revision: etcdstore.Revision(n)}, err
}

func parsePoint(text string) (Moment, error) {
	text = strings.ReplaceAll(text, " ", "+") // a query decodes the plus of a time zone as a space
	point, err := time.Parse(time.RFC3339, text)
	if err == nil {
		return Moment{Time: &Time{Point: point}}, nil
	}
	where := ""
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		where = strings.TrimPrefix(wrong.Message, ": ") // the part that is out of range
		if where == "" {
			where = fmt.Sprintf("it cannot be read from character %d on", len(text)-len(wrong.ValueElem)+1)
		}
	}
	return Moment{}, fmt.Errorf("want a revision, a time such as 2026-11-21T10:00:00Z, or one ago such as -10m: %s", where)
}
