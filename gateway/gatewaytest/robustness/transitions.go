package robustness

// transitions checks that an event has the type and the content of the change for the client's scope: an object that begins to match is
// ADDED, one that no longer matches is DELETED, with its last state that matched and the revision of the change.
func transitions(h *History, _ Rules, r *report) {
	views := make(map[Scope]map[at]Seen)
	h.streams(func(w *Watching, s *Stream) {
		view, ok := views[w.Scope]
		if !ok {
			view = make(map[at]Seen)
			for _, seen := range h.Truth.View(w.Scope) {
				view[at{seen.Object.Key(), seen.Object.Revision}] = seen
			}
			views[w.Scope] = view
		}
		for _, line := range s.events() {
			change := at{line.Object.Key(), line.Object.Revision}
			seen, ok := view[change]
			if !ok {
				continue // checked by reliable
			}
			if line.Type != seen.Type {
				r.add(whoOf(w, s), "%s at %d is %s, want %s", change.key, change.revision, line.Type, seen.Type)
			}
			if line.Object.Digest != seen.Object.Digest {
				r.add(whoOf(w, s), "%s %s at %d has other content than in etcd", line.Type, change.key, change.revision)
			}
		}
	})
}
