package robustness

// transitions: an event has the type and the content that the change has for the client's scope: an object that begins to
// match is ADDED, one that ceases to is DELETED, with its last state that matched and the revision of the change.
func transitions(h *History, _ Rules, r *report) {
	h.streams(func(w *Watching, s *Stream) {
		for _, line := range s.events() {
			for _, seen := range h.Truth.Slice(w.Scope, line.Object.Revision-1, line.Object.Revision) {
				if seen.Object.Key() != line.Object.Key() {
					continue
				}
				if line.Type != seen.Type {
					r.add(whoOf(w, s), "%s at %d is %s, want %s", seen.Object.Key(), seen.Object.Revision, line.Type, seen.Type)
				}
				if line.Object.Digest != seen.Object.Digest {
					r.add(whoOf(w, s), "%s %s at %d has other content than in etcd", line.Type, seen.Object.Key(), seen.Object.Revision)
				}
			}
		}
	})
}
