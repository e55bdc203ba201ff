package robustness

// reliable checks that a stream delivered exactly the history of etcd for its scope, later than its start and up to its last event or
// bookmark. A part of the last revision of a broken stream is enough.
func reliable(h *History, _ Rules, r *report) {
	h.streams(func(w *Watching, s *Stream) {
		got := make(map[at]bool)
		var last int64
		for _, line := range s.events() {
			last = line.Object.Revision
			if last != s.From { // atomicRevisions checks replays
				got[at{line.Object.Key(), last}] = true
			}
		}
		through := s.Last()
		for _, seen := range h.Truth.Slice(w.Scope, s.From, through) {
			change := at{seen.Object.Key(), seen.Object.Revision}
			if got[change] {
				delete(got, change)
				continue
			}
			if !(s.broken() && change.revision == last && last == through) {
				r.add(whoOf(w, s), "%s at %d was lost: the stream went on to %d", change.key, change.revision, through)
			}
		}
		for change := range got {
			r.add(whoOf(w, s), "%s at %d is not in etcd's history after %d", change.key, change.revision, s.From)
		}
	})
}

// atomicRevisions checks that the changes of a revision are delivered together and completely, and that a client that resumes at a revision
// of several changes gets all of them.
func atomicRevisions(h *History, _ Rules, r *report) {
	h.streams(func(w *Watching, s *Stream) {
		var runs []run
		for _, line := range s.Lines {
			if line.Type == failed {
				continue
			}
			if n := len(runs); n == 0 || runs[n-1].revision != line.Object.Revision || runs[n-1].bookmark || !line.IsEvent() {
				runs = append(runs, run{revision: line.Object.Revision, bookmark: !line.IsEvent()})
			}
			if line.IsEvent() {
				runs[len(runs)-1].events++
			}
		}
		done := make(map[int64]bool)
		for i, run := range runs {
			if run.bookmark {
				continue
			}
			if done[run.revision] {
				r.add(whoOf(w, s), "the changes of %d are delivered in parts", run.revision)
			}
			done[run.revision] = true
			want := len(h.Truth.Slice(w.Scope, run.revision-1, run.revision))
			if partial := s.broken() && i == len(runs)-1; run.events != want && !partial {
				r.add(whoOf(w, s), "%d of %d changes of revision %d came before other events", run.events, want, run.revision)
			}
		}
		if same := len(h.Truth.Slice(w.Scope, s.From-1, s.From)); same > 1 && len(runs) > 0 && !done[s.From] {
			r.add(whoOf(w, s), "it resumed at a revision with %d changes and did not get them again", same)
		}
	})
}

// run is the part of a stream with one revision.
type run struct {
	revision int64
	events   int
	bookmark bool
}
