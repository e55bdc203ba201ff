package robustness

import (
	"fmt"
	"time"
)

// Rules say what a scenario allows, and what it requires so that a pass means something.
type Rules struct {
	Ends    []End // of streams, besides clean ones and those by the client
	Codes   []int // of refused requests and ERROR frames
	Relists bool  // clients may have to list again without a compaction
	Journal bool  // the gateways have every revision that etcd has compacted: no client has to list again

	Events, Resumes, Faults, Acknowledged int // minimum numbers
}

// Violation is a broken promise.
type Violation struct {
	Promise string `json:"promise"`
	Who     string `json:"who"`
	What    string `json:"what"`
}

func (v Violation) String() string { return v.Promise + ": " + v.Who + ": " + v.What }

// Validator checks one promise.
type Validator struct {
	Promise string
	Check   func(*History, Rules, *report)
}

// Validators are all validators.
var Validators = []Validator{
	{"ordered", ordered},
	{"unique", unique},
	{"reliable", reliable},
	{"atomic", atomicRevisions},
	{"resumable", resumable},
	{"bookmark-true", bookmarkTrue},
	{"transitions", transitions},
	{"fresh-list", freshList},
	{"final-state", finalState},
	{"agreement", agreement},
	{"acknowledged", acknowledged},
	{"ends-classified", endsClassified},
	{"non-vacuous", nonVacuous},
}

// Validate returns all violations of a history.
func Validate(h *History, rules Rules) []Violation {
	var all []Violation
	for _, v := range Validators {
		r := &report{promise: v.Promise}
		v.Check(h, rules, r)
		all = append(all, r.violations...)
	}
	return all
}

// report collects the violations of one promise.
type report struct {
	promise    string
	violations []Violation
}

// mostViolations limits the reported violations of one promise, because the first ones are enough.
const mostViolations = 200

func (r *report) add(who any, format string, args ...any) {
	if len(r.violations) < mostViolations {
		r.violations = append(r.violations, Violation{r.promise, fmt.Sprint(who), fmt.Sprintf(format, args...)})
	}
}

// streams calls f for all streams that began to deliver.
func (h *History) streams(f func(w *Watching, s *Stream)) {
	for _, w := range h.Watchers {
		for _, step := range w.Steps {
			if step.Stream != nil && !step.Stream.Opened.IsZero() {
				f(w, step.Stream)
			}
		}
	}
}

// whoOf names a stream of a watcher.
func whoOf(w *Watching, s *Stream) string { return fmt.Sprintf("%s (%s), %s", w.Name, w.Scope, s) }

// broken reports whether the client may have only a part of a revision: the connection broke, or the client left.
func (s *Stream) broken() bool { return s.End == Cut || s.End == Closed }

// events returns the lines about changes.
func (s *Stream) events() []Line {
	var events []Line
	for _, line := range s.Lines {
		if line.IsEvent() {
			events = append(events, line)
		}
	}
	return events
}

// lastFault returns the time of the last fault; zero: there was none.
func (h *History) lastFault() (last time.Time) {
	for _, f := range h.Faults {
		if f.At.After(last) {
			last = f.At
		}
	}
	return last
}
