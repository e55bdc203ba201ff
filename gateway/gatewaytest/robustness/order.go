package robustness

// at is one change of one key.
type at struct {
	key      string
	revision int64
}

// ordered checks that revisions never decrease on a stream, and that those of a key increase.
func ordered(h *History, _ Rules, r *report) {
	h.streams(func(w *Watching, s *Stream) {
		var last int64
		keys := make(map[string]int64)
		for _, line := range s.events() {
			revision, key := line.Object.Revision, line.Object.Key()
			if revision < last {
				r.add(whoOf(w, s), "%s at %d came after %d", key, revision, last)
			}
			if before, ok := keys[key]; ok && revision < before {
				r.add(whoOf(w, s), "%s goes back from %d to %d", key, before, revision)
			}
			last, keys[key] = revision, revision
		}
	})
}

// unique checks that each change is delivered once, also over resumes. A client that resumes at a revision in which several of its keys
// changed gets all of that revision again, which atomicRevisions checks.
func unique(h *History, _ Rules, r *report) {
	for _, w := range h.Watchers {
		before := make(map[at]bool) // in the streams since the last list
		for _, step := range w.Steps {
			if step.List != nil {
				clear(before)
				continue
			}
			s := step.Stream
			here := make(map[at]bool)
			for _, line := range s.events() {
				change := at{line.Object.Key(), line.Object.Revision}
				if here[change] {
					r.add(whoOf(w, s), "%s at %d was delivered twice", change.key, change.revision)
				}
				replay := change.revision == s.From && len(h.Truth.Slice(w.Scope, s.From-1, s.From)) > 1
				if before[change] && !replay {
					r.add(whoOf(w, s), "%s at %d was delivered before the client resumed", change.key, change.revision)
				}
				here[change] = true
			}
			for change := range here {
				before[change] = true
			}
		}
	}
}
