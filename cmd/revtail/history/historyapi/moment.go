package historyapi

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"revtail/gateway/config"
)

// Moment is a point in the history of etcd: a revision, a time, or a time ago. It is a pflag.Value. The zero value is none.
type Moment struct {
	Revision int64 // zero: it is a time

	text string    // as it was given
	time time.Time // zero: it is a revision, or a time ago
	ago  time.Duration
}

// MomentUsage says how a moment is written, for the usage of flags.
const MomentUsage = "a revision as 4711, a time as 02:13 (of today), 2026-11-20T02:13:05 (both local) or 2026-11-20T02:13:05Z, or one ago as 10m"

// layouts are those of times without a zone, which are local.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// clockLayouts are those of times of today.
var clockLayouts = []string{"15:04:05", "15:04"}

// ParseMoment reads a moment. now has the day and the zone of times that have none.
func ParseMoment(text string, now time.Time) (Moment, error) {
	m := Moment{text: text}
	if revision, err := strconv.ParseInt(text, 10, 64); err == nil && revision > 0 {
		m.Revision = revision
		return m, nil
	}
	if ago, err := config.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && ago > 0 {
		m.ago = ago
		return m, nil
	}
	if point, err := time.Parse(time.RFC3339, text); err == nil {
		m.time = point
		return m, nil
	}
	for _, layout := range layouts {
		if point, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			m.time = point
			return m, nil
		}
	}
	for _, layout := range clockLayouts {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		m.time = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
		if m.time.After(now) {
			yesterday := m.time.AddDate(0, 0, -1).Format("2006-01-02T15:04")
			return Moment{}, &config.ValueError{Want: "this time of today is in the future: want a date before it, as " + yesterday}
		}
		return m, nil
	}
	return Moment{}, &config.ValueError{Want: "want " + MomentUsage}
}

// Set parses a moment. 0 is none.
func (m *Moment) Set(text string) (err error) {
	if text == "0" {
		*m = Moment{}
		return nil
	}
	*m, err = ParseMoment(text, time.Now())
	return err
}

// String returns the moment as it was given.
func (m Moment) String() string { return m.text }

// Type is that of pflag.Value.
func (m Moment) Type() string { return "value" }

// IsZero reports whether there is no moment.
func (m Moment) IsZero() bool { return m.text == "" }

// Query returns the moment as a parameter of the gateway; empty: none.
func (m Moment) Query() string {
	switch {
	case m.IsZero():
		return ""
	case m.Revision != 0:
		return strconv.FormatInt(m.Revision, 10)
	case m.ago != 0:
		return "-" + m.ago.String()
	}
	return m.time.UTC().Format(time.RFC3339Nano)
}

// Speed is how much faster than in reality changes are replayed, as 10x. It is a pflag.Value. Zero: at once.
type Speed float64

// Set parses a speed.
func (s *Speed) Set(text string) error {
	factor, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(factor > 0) || factor > maxSpeed {
		return &config.ValueError{Want: "want a factor above 0, as 1x for the real speed or 10x"}
	}
	*s = Speed(factor)
	return nil
}

// maxSpeed is the greatest factor. A greater one is a mistake: without the flag there are no pauses.
const maxSpeed = 1e6

// String returns the speed with its unit; empty: at once.
func (s Speed) String() string {
	if s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(s), 'g', -1, 64) + "x"
}

// Type is that of pflag.Value.
func (s Speed) Type() string { return "value" }

// Pause returns the time between two changes of the replay. It is zero if one of the times is unknown.
func (s Speed) Pause(before, after time.Time) time.Duration {
	if s == 0 || before.IsZero() || after.IsZero() {
		return 0
	}
	return max(0, time.Duration(float64(after.Sub(before))/float64(s)))
}

// errInterval is the error of an interval that ends before it begins.
var errInterval = errors.New("--until is before --since: want it after it")

// CheckInterval refuses an interval that ends before it begins, as far as that is known without the gateway.
func CheckInterval(since, until Moment) error {
	switch {
	case since.Revision != 0 && until.Revision != 0 && until.Revision < since.Revision,
		!since.time.IsZero() && !until.time.IsZero() && until.time.Before(since.time),
		since.ago != 0 && until.ago != 0 && until.ago > since.ago:
		return errInterval
	}
	return nil
}
