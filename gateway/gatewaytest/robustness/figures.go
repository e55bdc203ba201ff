package robustness

import (
	"slices"
	"time"
)

// Figures are the results of a scenario.
type Figures struct {
	Events, Bookmarks, Lists                 int
	Acknowledged, RefusedWrites, Unknown     int
	Resumes, Cuts, Relists, Refusals, Cleans int
	Gaps, Lags                               []time.Duration // sorted
}

// figures counts. A gap is, for each fault and each client of the whole resource, the time from the fault to the client's first event of a
// later write. A lag is the time from the first report of a change, by the answer to its write or by a member of etcd, to its event at a
// client.
func (h *History) figures() Figures {
	var f Figures
	for _, w := range h.Writes {
		switch w.Outcome {
		case Acknowledged:
			f.Acknowledged++
		case RefusedWrite:
			f.RefusedWrites++
		default:
			f.Unknown++
		}
	}
	f.Lists = len(h.lists())
	known := h.firstKnown()
	for _, w := range h.Watchers {
		f.count(w, known)
		if w.Scope == (Scope{}) {
			f.Gaps = append(f.Gaps, h.gaps(w, known)...)
		}
	}
	slices.Sort(f.Gaps)
	slices.Sort(f.Lags)
	return f
}

func (f *Figures) count(w *Watching, known map[int64]time.Time) {
	streams := 0
	for i, step := range w.Steps {
		if step.List != nil {
			streams = 0
			if i > 0 {
				f.Relists++
			}
			continue
		}
		s := step.Stream
		switch s.End {
		case Cut:
			f.Cuts++
		case Clean:
			f.Cleans++
		case Refused, Unreachable:
			f.Refusals++
		}
		if s.Opened.IsZero() {
			continue
		}
		if streams++; streams > 1 {
			f.Resumes++
		}
		for _, line := range s.Lines {
			if line.Type == bookmark {
				f.Bookmarks++
			}
			if !line.IsEvent() {
				continue
			}
			f.Events++
			if at, ok := known[line.Object.Revision]; ok {
				f.Lags = append(f.Lags, max(0, line.At.Sub(at)))
			}
		}
	}
}

// firstKnown returns the time at which each revision was first reported.
func (h *History) firstKnown() map[int64]time.Time {
	known := make(map[int64]time.Time)
	note := func(revision int64, t time.Time) {
		if first, ok := known[revision]; revision > 0 && !t.IsZero() && (!ok || t.Before(first)) {
			known[revision] = t
		}
	}
	for _, c := range h.Truth.Changes() {
		note(c.Revision, c.At)
	}
	for _, w := range h.Writes {
		if w.Outcome == Acknowledged {
			note(w.Revision, w.Answered)
		}
	}
	return known
}

func (h *History) gaps(w *Watching, known map[int64]time.Time) []time.Duration {
	var lines []Line
	for _, step := range w.Steps {
		if step.Stream != nil {
			lines = append(lines, step.Stream.events()...)
		}
	}
	var gaps []time.Duration
	for _, fault := range h.Faults {
		for _, line := range lines {
			if line.At.After(fault.At) && known[line.Object.Revision].After(fault.At) {
				gaps = append(gaps, line.At.Sub(fault.At))
				break
			}
		}
	}
	return gaps
}

func (h *History) acknowledgedAfter(t time.Time) bool {
	return slices.ContainsFunc(h.Writes, func(w *Write) bool { return w.Outcome == Acknowledged && w.Sent.After(t) })
}

// percentile returns a percentile of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
