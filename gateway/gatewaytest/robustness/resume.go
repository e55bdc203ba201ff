package robustness

import "slices"

const gone = 410

// resumable checks that a stream continues where the one before it ended, on any gateway, and that a client must list again only if etcd
// may have compacted the events that it needs.
func resumable(h *History, rules Rules, r *report) {
	for _, w := range h.Watchers {
		var token int64
		var expired bool
		for i, step := range w.Steps {
			if step.List != nil {
				if i > 0 && !expired {
					r.add(w.Name, "it listed again without a reason")
				}
				token, expired = step.List.Revision, false
				continue
			}
			s := step.Stream
			if s.From != token {
				r.add(whoOf(w, s), "it began after %d, but the client was at %d", s.From, token)
			}
			token = s.Last()
			if s.Code != gone {
				continue
			}
			expired = true
			if rules.Journal {
				r.add(whoOf(w, s), "410 for %d, which is in the journal", token)
			}
			if compacted := h.compactedAt(s.Ended); token >= compacted && !rules.Relists {
				r.add(whoOf(w, s), "410 for %d, while etcd was compacted to %d at most", token, compacted)
			}
		}
	}
}

// endsClassified checks that every stream ended in a way that the scenario allows.
func endsClassified(h *History, rules Rules, r *report) {
	for _, w := range h.Watchers {
		for _, step := range w.Steps {
			s := step.Stream
			if s == nil || s.End == Clean || s.End == Closed {
				continue
			}
			switch {
			case s.End == "":
				r.add(whoOf(w, s), "it has no known end")
			case s.End == Malformed:
				r.add(whoOf(w, s), "%s", s.Why)
			case (s.End == Failed || s.End == Refused) && s.Code == gone: // checked by resumable
			case s.End == Failed || s.End == Refused:
				if !slices.Contains(rules.Codes, s.Code) {
					r.add(whoOf(w, s), "%s with %d: %s", s.End, s.Code, s.Why)
				}
			case !slices.Contains(rules.Ends, s.End):
				r.add(whoOf(w, s), "%s: %s", s.End, s.Why)
			}
		}
	}
}
