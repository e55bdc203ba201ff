package table

import (
	"time"

	"revtail/encoding/jsontext"
)

// Until returns when the cells of a document may change though it does not: cells say how long ago a time in it was, in units that become
// longer. now is a time before the cells were made. Managed fields count too, which no cell shows.
func Until(doc []byte, now time.Time) time.Time {
	first := now.Add(longest)
	s := jsontext.NewScanner(doc)
	eachString(&s, func(text []byte) {
		if t, err := time.Parse(time.RFC3339, string(text)); err == nil {
			if next := nextAge(t, now); next.Before(first) {
				first = next
			}
		}
	})
	return first
}

const (
	longest = 24 * time.Hour // the longest unit
	// shortestTime and longestTime are the lengths of a time of RFC 3339: "2026-11-28T18:03:02Z", and one with nanoseconds and a zone.
	shortestTime = len("2026-11-28T18:03:02Z")
	longestTime  = len("2026-11-28T18:03:02.000000000+00:00")
)

// units are those of duration.HumanDuration: an age of less than a value is in units.
var units = []struct{ below, unit time.Duration }{
	{10 * time.Minute, time.Second},
	{8 * time.Hour, time.Minute},
	{8 * 24 * time.Hour, time.Hour},
}

// nextAge returns when the age of a time changes; at once for one that has not come, which is counted down.
func nextAge(t, now time.Time) time.Time {
	age := now.Sub(t)
	if age < 0 {
		return now
	}
	unit := longest
	for _, u := range units {
		if age < u.below {
			unit = u.unit
			break
		}
	}
	return t.Add(age.Truncate(unit) + unit)
}

// eachString calls found with the text of each string of a value that may be a time, without the names of members.
func eachString(s *jsontext.Scanner, found func(text []byte)) bool {
	switch s.Peek() {
	case '{':
		return s.Object(func([]byte) bool { return eachString(s, found) })
	case '[':
		return s.Array(func() bool { return eachString(s, found) })
	case '"':
		text, ok := s.Quoted()
		if ok && len(text) >= shortestTime && len(text) <= longestTime && text[4] == '-' && text[10] == 'T' {
			found(text)
		}
		return ok
	default:
		return s.Skip()
	}
}
