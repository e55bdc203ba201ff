package robustness

// bookmarkTrue checks that every change of the scope up to a bookmark is delivered before it, that no later change is older, that bookmarks
// never go back, and that none is of the future.
func bookmarkTrue(h *History, _ Rules, r *report) {
	newest := h.Truth.Through()
	h.streams(func(w *Watching, s *Stream) {
		var marked, delivered int64 // revisions
		events := make(map[at]bool)
		checked := s.From // the changes up to it were found
		for _, line := range s.Lines {
			revision := line.Object.Revision
			switch {
			case line.Type == failed:
			case line.IsEvent():
				if revision <= marked {
					r.add(whoOf(w, s), "%s at %d came after the bookmark %d", line.Object.Key(), revision, marked)
				}
				delivered = max(delivered, revision)
				events[at{line.Object.Key(), revision}] = true
			default:
				if revision < marked || revision < delivered || revision < s.From {
					r.add(whoOf(w, s), "the bookmark %d goes back from %d", revision, max(marked, delivered, s.From))
				}
				if revision > newest {
					r.add(whoOf(w, s), "the bookmark %d is of the future: etcd is at %d", revision, newest)
				}
				for _, seen := range h.Truth.Slice(w.Scope, checked, revision) {
					if !events[at{seen.Object.Key(), seen.Object.Revision}] {
						r.add(whoOf(w, s), "the bookmark %d came before %s at %d", revision, seen.Object.Key(), seen.Object.Revision)
					}
				}
				marked, checked = revision, max(checked, revision)
			}
		}
	})
}
