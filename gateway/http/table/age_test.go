package table

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// TestUntil checks, for ages of all sizes, that what people read does not change before the time that Until returns.
func TestUntil(t *testing.T) {
	created := time.Date(2026, 11, 28, 18, 3, 2, 0, time.UTC)
	doc := fmt.Appendf(nil, `{"metadata":{"creationTimestamp":%q},"spec":{"2026-11-28T18:03:02Z":["x",1,null,"2026-11-28 at 18:03h"]}}`, created.Format(time.RFC3339))
	shown := func(at time.Time) string { return duration.HumanDuration(at.Sub(created)) }
	for age := time.Duration(0); age < 9*365*24*time.Hour; age += age/97 + 777*time.Millisecond {
		now := created.Add(age)
		until := Until(doc, now)
		if !until.After(now) || until.After(now.Add(longest)) {
			t.Fatalf("the cells of an object that is %v old are right until %v later", age, until.Sub(now))
		}
		if got := shown(until.Add(-time.Nanosecond)); got != shown(now) {
			t.Fatalf("an object that is %v old is shown as %s, and as %s before %v later", age, shown(now), got, until.Sub(now))
		}
	}
	for age, want := range map[time.Duration]time.Duration{
		5*time.Minute + time.Second/2: time.Second / 2,
		3*time.Hour + 20*time.Second:  40 * time.Second,
		50*time.Hour + 45*time.Minute: 15 * time.Minute,
		200 * time.Hour:               16 * time.Hour,
		-time.Minute:                  0,
	} {
		now := created.Add(age)
		if got := Until(doc, now).Sub(now); got != want {
			t.Errorf("the cells of an object that is %v old are right for %v, want %v", age, got, want)
		}
	}
	if got := Until([]byte(`{}`), created); got != created.Add(longest) {
		t.Errorf("the cells of an object without a time are right until %v", got)
	}
}
