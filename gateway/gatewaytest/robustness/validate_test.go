package robustness

import (
	"slices"
	"testing"
	"time"
)

var sampleRules = Rules{Ends: []End{Cut}, Events: 100, Resumes: 5, Faults: 1, Acknowledged: 100}

// TestGoodHistory checks that the validators find no violation of a perfect gateway.
func TestGoodHistory(t *testing.T) {
	for seed := range uint64(20) {
		for _, v := range Validate(newSample(seed), sampleRules) {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
}

// bugs are put into a good history; the validator of the broken promise must find each. A bug reports whether the history had a place for
// it.
var bugs = []struct {
	promise, name string
	sow           func(*History) bool
}{
	{"ordered", "two events of different revisions swapped", func(h *History) bool {
		return h.inStream(2, func(_ *Watching, s *Stream, i int) bool {
			a, b := s.Lines[i], s.Lines[i+1]
			if !a.IsEvent() || !b.IsEvent() || a.Object.Revision == b.Object.Revision {
				return false
			}
			s.Lines[i], s.Lines[i+1] = b, a
			return true
		})
	}},
	{"unique", "an event delivered twice", func(h *History) bool {
		return h.inStream(1, func(_ *Watching, s *Stream, i int) bool {
			if !s.Lines[i].IsEvent() {
				return false
			}
			s.Lines = slices.Insert(s.Lines, i, s.Lines[i])
			return true
		})
	}},
	{"unique", "an event delivered again after a resume", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool {
			if i == 0 || w.Steps[i-1].Stream == nil {
				return false
			}
			events := w.Steps[i-1].Stream.events()
			if len(events) < 2 {
				return false
			}
			s := w.Steps[i].Stream
			s.Lines = slices.Insert(s.Lines, 0, events[0])
			return true
		})
	}},
	{"reliable", "an event dropped", func(h *History) bool {
		return h.inStream(2, func(_ *Watching, s *Stream, i int) bool {
			if !s.Lines[i].IsEvent() || s.Lines[i+1].Object.Revision == s.Lines[i].Object.Revision || s.Lines[i].Object.Revision == s.From {
				return false
			}
			s.Lines = slices.Delete(s.Lines, i, i+1)
			return true
		})
	}},
	{"reliable", "an event that etcd never had", func(h *History) bool {
		return h.inStream(1, func(_ *Watching, s *Stream, i int) bool {
			if s.Lines[i].Object.Revision == s.From {
				return false
			}
			phantom := *s.Lines[i].Frame
			phantom.Type, phantom.Object.Namespace, phantom.Object.Name = added, "a", "phantom"
			s.Lines = slices.Insert(s.Lines, i, Line{s.Lines[i].At, &phantom})
			return true
		})
	}},
	{"reliable", "an event of another scope", func(h *History) bool {
		return h.inStream(1, func(w *Watching, s *Stream, i int) bool {
			if w.Scope != (Scope{Namespace: "a"}) || s.Lines[i].Object.Revision == s.From {
				return false
			}
			for _, other := range h.Truth.Slice(Scope{Namespace: "b"}, s.From, s.Last()) {
				s.Lines = slices.Insert(s.Lines, i, Line{s.Lines[i].At, &Frame{Type: other.Type, Object: other.Object}})
				return true
			}
			return false
		})
	}},
	{"atomic", "a revision torn by a bookmark", func(h *History) bool {
		return h.inStream(2, func(_ *Watching, s *Stream, i int) bool {
			revision := s.Lines[i].Object.Revision
			if !s.Lines[i].IsEvent() || !s.Lines[i+1].IsEvent() || s.Lines[i+1].Object.Revision != revision {
				return false
			}
			s.Lines = slices.Insert(s.Lines, i+1, Line{s.Lines[i].At, &Frame{Type: bookmark, Object: Object{Revision: revision}}})
			return true
		})
	}},
	{"atomic", "a clean end amidst a revision", func(h *History) bool {
		return h.inStream(2, func(_ *Watching, s *Stream, i int) bool {
			if !s.Lines[i].IsEvent() || !s.Lines[i+1].IsEvent() || s.Lines[i+1].Object.Revision != s.Lines[i].Object.Revision {
				return false
			}
			s.Lines, s.End = s.Lines[:i+1], Clean
			return true
		})
	}},
	{"atomic", "a resume inside a revision that is not replayed", func(h *History) bool {
		return h.inStream(1, func(w *Watching, s *Stream, _ int) bool {
			n := len(h.Truth.Slice(w.Scope, s.From-1, s.From))
			if n < 2 || len(s.Lines) <= n {
				return false
			}
			s.Lines = s.Lines[n:]
			if s.Lines[0].Object.Revision == s.From {
				s.Lines = s.Lines[1:]
			}
			return len(s.Lines) > 0
		})
	}},
	{"resumable", "410 although nothing was compacted", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool {
			w.Steps[i].Stream.End, w.Steps[i].Stream.Code = Failed, gone
			return true
		})
	}},
	{"resumable", "410 for what is still there after a compaction", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool {
			s := w.Steps[i].Stream
			h.Compactions = append(h.Compactions, Compaction{s.Sent.Add(-time.Second), s.Last()})
			s.End, s.Code = Failed, gone
			return true
		})
	}},
	{"resumable", "a list without a reason", func(h *History) bool {
		w := h.Watchers[0]
		again := *w.Steps[0].List
		w.Steps = append(w.Steps, Step{List: &again})
		return true
	}},
	{"bookmark-true", "a bookmark ahead of the events", func(h *History) bool {
		return h.inStream(2, func(_ *Watching, s *Stream, i int) bool {
			if !s.Lines[i+1].IsEvent() || s.Lines[i].Object.Revision >= s.Lines[i+1].Object.Revision {
				return false
			}
			early := Line{s.Lines[i].At, &Frame{Type: bookmark, Object: Object{Revision: s.Lines[i+1].Object.Revision}}}
			s.Lines = slices.Insert(s.Lines, i+1, early)
			return true
		})
	}},
	{"bookmark-true", "a bookmark of the future", func(h *History) bool {
		return h.inStream(1, func(_ *Watching, s *Stream, i int) bool {
			if i+1 != len(s.Lines) || s.End != Closed {
				return false
			}
			s.Lines = append(s.Lines, Line{s.Ended, &Frame{Type: bookmark, Object: Object{Revision: h.Truth.Through() + 1}}})
			return true
		})
	}},
	{"bookmark-true", "a bookmark that goes back", func(h *History) bool {
		return h.inStream(1, func(_ *Watching, s *Stream, i int) bool {
			if i+1 != len(s.Lines) || s.End != Closed {
				return false
			}
			s.Lines = append(s.Lines, Line{s.Ended, &Frame{Type: bookmark, Object: Object{Revision: s.Last() - 1}}})
			return true
		})
	}},
	{"transitions", "a DELETED without the last state", func(h *History) bool {
		return h.changeEvent(deleted, func(f *Frame) { f.Object.Digest = 0 })
	}},
	{"transitions", "an object that left a selector told as MODIFIED", func(h *History) bool {
		return h.changeEvent(deleted, func(f *Frame) { f.Type = modified })
	}},
	{"transitions", "an update told as ADDED", func(h *History) bool {
		return h.changeEvent(modified, func(f *Frame) { f.Type = added })
	}},
	{"fresh-list", "a consistent list older than an acknowledged write", func(h *History) bool {
		return h.changeList(Consistent, func(l *List) { *l = *h.truly(l, l.Revision-1) })
	}},
	{"fresh-list", "a list with an object too few", func(h *History) bool {
		return h.changeList(Consistent, func(l *List) { l.Items = l.Items[1:] })
	}},
	{"fresh-list", "a list with an object of an older revision", func(h *History) bool {
		return h.changeList(Any, func(l *List) { l.Items[0].Revision-- })
	}},
	{"fresh-list", "a list older than asked for", func(h *History) bool {
		return h.changeList(NotOlder, func(l *List) { *l = *h.truly(l, l.Asked-1) })
	}},
	{"fresh-list", "a list of another revision than exactly the one asked for", func(h *History) bool {
		return h.changeList(Exact, func(l *List) { *l = *h.truly(l, l.Asked+1) })
	}},
	{"fresh-list", "a gateway that goes back in time", func(h *History) bool {
		return h.changeList(Any, func(l *List) {
			later := *h.truly(l, l.Revision)
			later.Sent, later.Answered = l.Answered.Add(time.Second), l.Answered.Add(2*time.Second)
			later = *h.truly(&later, l.Revision-1)
			h.Lists = append(h.Lists, &later)
		})
	}},
	{"final-state", "a stream that fell silent", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool {
			s := w.Steps[i].Stream
			if i+1 != len(w.Steps) || len(s.Lines) < 5 || w.Scope != (Scope{}) {
				return false
			}
			s.Lines = s.Lines[:1]
			return true
		})
	}},
	{"agreement", "two clients with different contents", func(h *History) bool {
		return h.changeEvent(modified, func(f *Frame) { f.Object.Digest++ })
	}},
	{"agreement", "two members of etcd with different histories", func(h *History) bool {
		h.Truth.Add([]Change{{Revision: 5, Key: "other", Value: []byte("{}")}})
		return true
	}},
	{"acknowledged", "an acknowledged write that is not there", func(h *History) bool {
		h.Writes = append(h.Writes, &Write{Writer: "w", Verb: "put", Keys: []string{"k"}, Value: "lost", Outcome: Acknowledged, Revision: 9000})
		return true
	}},
	{"acknowledged", "a refused write that was done", func(h *History) bool {
		return h.changeWrite(func(w *Write) { w.Outcome, w.Code = RefusedWrite, 409 })
	}},
	{"acknowledged", "a write that was sent twice", func(h *History) bool {
		last := h.Truth.Changes()[0]
		next := h.Truth.Through() + 1
		h.Truth.Add([]Change{{Revision: next, Key: last.Key, Value: []byte(`{"data":{"value":"between"}}`)}})
		h.Truth.Add([]Change{{Revision: next + 1, Key: last.Key, Value: last.Value}})
		h.Writes = append(h.Writes, &Write{Writer: "w", Verb: "put", Keys: []string{last.Key}, Value: last.After.Value, Outcome: UnknownResult})
		return true
	}},
	{"acknowledged", "a write that replaced what it had not seen", func(h *History) bool {
		return h.changeWrite(func(w *Write) { w.Replaces = 1 })
	}},
	{"acknowledged", "an answer with a wrong revision", func(h *History) bool { return h.changeWrite(func(w *Write) { w.Revision++ }) }},
	{"acknowledged", "a write that came before one that had been answered before it was sent", func(h *History) bool {
		return h.changeWrite(func(w *Write) { w.Sent = w.Sent.Add(time.Hour) })
	}},
	{"ends-classified", "a broken connection where none is expected", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool { w.Steps[i].Stream.End = Unreachable; return true })
	}},
	{"ends-classified", "an internal error", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool {
			w.Steps[i].Stream.End, w.Steps[i].Stream.Code = Failed, 500
			return true
		})
	}},
	{"ends-classified", "a stream without a known end", func(h *History) bool {
		return h.inSteps(func(w *Watching, i int) bool { w.Steps[i].Stream.End = ""; return true })
	}},
	{"non-vacuous", "clients that saw nothing", func(h *History) bool {
		for _, w := range h.Watchers {
			w.Steps = w.Steps[:1]
		}
		return true
	}},
	{"non-vacuous", "no fault", func(h *History) bool { h.Faults = nil; return true }},
	{"non-vacuous", "no write after the fault", func(h *History) bool {
		h.Faults[0].At = h.Faults[0].At.Add(time.Hour)
		return true
	}},
}

// TestValidatorsFindBugs checks that every validator finds the bugs that break its promise.
func TestValidatorsFindBugs(t *testing.T) {
	proved := map[string]bool{}
	for _, bug := range bugs {
		t.Run(bug.promise+"/"+bug.name, func(t *testing.T) {
			sown := 0
			for seed := range uint64(6) {
				h := newSample(seed)
				if !bug.sow(h) {
					continue
				}
				sown++
				violations := Validate(h, sampleRules)
				if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Promise == bug.promise }) {
					t.Errorf("seed %d: not caught; found were %v", seed, violations)
				}
			}
			if sown == 0 {
				t.Error("no sample had a place for the bug")
			}
		})
		proved[bug.promise] = true
	}
	for _, v := range Validators {
		if !proved[v.Promise] {
			t.Errorf("no bug tests the validator of %s", v.Promise)
		}
	}
}

// inStream tries to put a bug at the lines of streams, from the middle on, until it fits; n-1 lines must follow it.
func (h *History) inStream(n int, sow func(w *Watching, s *Stream, i int) bool) bool {
	return h.inSteps(func(w *Watching, step int) bool {
		s := w.Steps[step].Stream
		for i := 0; i+n <= len(s.Lines); i++ {
			if sow(w, s, i) {
				return true
			}
		}
		return false
	})
}

func (h *History) inSteps(sow func(w *Watching, i int) bool) bool {
	for _, w := range h.Watchers {
		for i, step := range w.Steps {
			if step.Stream != nil && sow(w, i) {
				return true
			}
		}
	}
	return false
}

func (h *History) changeEvent(kind string, change func(*Frame)) bool {
	return h.inStream(1, func(_ *Watching, s *Stream, i int) bool {
		if s.Lines[i].Type != kind {
			return false
		}
		frame := *s.Lines[i].Frame
		change(&frame)
		s.Lines[i].Frame = &frame
		return true
	})
}

func (h *History) changeList(kind ListKind, change func(*List)) bool {
	for _, l := range h.Lists {
		if l.Kind == kind && len(l.Items) > 0 {
			change(l)
			return true
		}
	}
	return false
}

// truly returns the same list as at another revision.
func (h *History) truly(l *List, revision int64) *List {
	other := *l
	other.Revision, other.Items = revision, nil
	for _, o := range h.Truth.State(l.Scope, revision) {
		other.Items = append(other.Items, o)
	}
	return &other
}

func (h *History) changeWrite(change func(*Write)) bool {
	for _, w := range h.Writes {
		if w.Value != "" {
			change(w)
			return true
		}
	}
	return false
}
