package robustness

import (
	"testing"
	"time"
)

// Scenario is a load, a fault, and the promises to check.
type Scenario struct {
	Name  string
	Quick bool // it belongs to the quick set

	Etcd        int // members; zero: the gateway has an etcd of its own
	EtcdArgs    []string
	Gateways    int // zero: one
	Secure      int // of these, the last ones: they serve HTTPS
	GatewayArgs []string
	Proxied     bool // each gateway has proxies to etcd
	// JournalDir returns the directory for the journal of a gateway; nil: it has none.
	JournalDir func(tb testing.TB) string

	Rules Rules
	Play  func(r *Run, seconds int)
	// Seconds is the approximate duration of Play: in the quick set, and in the long one.
	Seconds [2]int
}

// Result is a line of the table.
type Result struct {
	Name       string
	Took       time.Duration
	Figures    Figures
	Notes      []string
	Violations []Violation
	Folder     string // of the recorded history; empty: no violation
}

// Perform runs a scenario and validates it.
func Perform(t *testing.T, s *Scenario, long bool) Result {
	t.Helper()
	began := time.Now()
	r := begin(t, s)
	seconds := s.Seconds[0]
	if long {
		seconds = s.Seconds[1]
	}
	s.Play(r, seconds)
	r.settle()
	if r.afterwards != nil {
		r.afterwards()
	}
	result := Result{Name: s.Name, Notes: r.notes, Violations: r.violations}
	for _, h := range append(r.past, r.present) {
		rules := s.Rules
		if h != r.present { // the demands apply to the whole scenario
			rules.Events, rules.Resumes, rules.Faults, rules.Acknowledged = 0, 0, 0, 0
		}
		result.Violations = append(result.Violations, Validate(h, rules)...)
		f := h.figures()
		result.Figures.merge(f)
	}
	result.Took = time.Since(began)
	if len(result.Violations) > 0 || t.Failed() {
		result.Folder = r.save(result.Violations)
	}
	return result
}
