package historyapi_test

import (
	"testing"
	"time"

	"revtail/cmd/revtail/history/historyapi"
)

func TestParseMoment(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 11, 20, 2, 30, 0, 0, zone)
	tests := []struct{ text, want string }{
		{"4711", "4711"},
		{"10m", "-10m0s"},
		{"-10m", "-10m0s"},
		{"1d12h", "-36h0m0s"},
		{"02:13", "2026-11-20T00:13:00Z"},
		{"02:13:05", "2026-11-20T00:13:05Z"},
		{"2026-11-19T22:00", "2026-11-19T20:00:00Z"},
		{"2026-11-19 22:00:01", "2026-11-19T20:00:01Z"},
		{"2026-11-19", "2026-11-18T22:00:00Z"},
		{"2026-11-19T22:00:00.5Z", "2026-11-19T22:00:00.5Z"},
		{"2026-11-19T22:00:00-01:00", "2026-11-19T23:00:00Z"},
	}
	for _, test := range tests {
		m, err := historyapi.ParseMoment(test.text, now)
		if got := m.Query(); got != test.want || err != nil || m.String() != test.text {
			t.Errorf("%s is %s as %q (%v), want %s", test.text, got, m, err, test.want)
		}
	}
	for _, text := range []string{"", "-4711", "soon", "02:31", "25:00", "-0s", "2026-13-01", "10" + "x", "1.5"} {
		if m, err := historyapi.ParseMoment(text, now); err == nil {
			t.Errorf("%q is the moment %s, want an error", text, m.Query())
		}
	}
}

func TestCheckInterval(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		since, until string
		ok           bool
	}{
		{"5", "5", true}, {"5", "4", false}, {"10m", "5m", true}, {"5m", "10m", false},
		{"02:00", "02:30", true}, {"02:30", "02:00", false}, {"5", "02:00", true},
	}
	for _, test := range tests {
		since, err := historyapi.ParseMoment(test.since, now)
		if err != nil {
			t.Fatal(err)
		}
		until, err := historyapi.ParseMoment(test.until, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := historyapi.CheckInterval(since, until); (got == nil) != test.ok {
			t.Errorf("from %s to %s: %v", test.since, test.until, got)
		}
	}
}

func TestSpeed(t *testing.T) {
	var s historyapi.Speed
	for text, want := range map[string]time.Duration{"10x": 6 * time.Second, "0.5": 2 * time.Minute, "1x": time.Minute} {
		if err := s.Set(text); err != nil {
			t.Fatal(err)
		}
		before := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		if got := s.Pause(before, before.Add(time.Minute)); got != want {
			t.Errorf("%s: a minute takes %v, want %v", text, got, want)
		}
		if got := s.Pause(time.Time{}, before) + s.Pause(before, before.Add(-time.Second)); got != 0 {
			t.Errorf("%s: a pause of %v after an unknown or a later time, want none", text, got)
		}
	}
	for _, text := range []string{"", "x", "0", "-1x", "NaN", "Inf", "1e9"} {
		if err := s.Set(text); err == nil {
			t.Errorf("the speed %q is accepted", text)
		}
	}
}
