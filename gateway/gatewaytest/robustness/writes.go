package robustness

import "slices"

// acknowledged checks that an acknowledged write was done, at the revision of its response, that a refused one was not done, that none was
// done twice, that a conditional one replaced the required revision, and that a write that was sent after the response to another one has a
// greater revision.
func acknowledged(h *History, _ Rules, r *report) {
	values, deletions := h.effects()
	tried := make(map[at]bool) // deletions that were not refused
	for _, w := range h.Writes {
		if w.Value == "" && w.Replaces != 0 && w.Outcome != RefusedWrite {
			tried[at{w.Keys[0], w.Replaces}] = true
		}
	}
	for _, w := range h.Writes {
		var done []int64
		switch {
		case w.Value != "":
			done = values[w.Value]
		case w.Replaces != 0:
			done = deletions[at{w.Keys[0], w.Replaces}]
		default:
			continue
		}
		who := w.Writer + ", " + w.Verb + " " + w.Keys[0]
		revisions := len(slices.Compact(slices.Clone(done)))
		switch {
		case w.Outcome == Acknowledged && revisions == 0:
			r.add(who, "it was acknowledged at %d, and was not done", w.Revision)
		case w.Outcome == Acknowledged && w.Revision != 0 && done[0] != w.Revision:
			r.add(who, "it was acknowledged at %d, and done at %d", w.Revision, done[0])
		case w.Outcome == RefusedWrite && revisions > 0 && !tried[at{w.Keys[0], w.Replaces}]:
			r.add(who, "it was refused with %d %s, and done at %d", w.Code, w.Reason, done[0])
		}
		if replaced := h.replacedBy(w); w.Value != "" && w.Replaces != 0 && w.Outcome == Acknowledged && replaced != w.Replaces {
			r.add(who, "it replaced revision %d, and was told to replace %d", replaced, w.Replaces)
		}
		if revisions > 1 {
			r.add(who, "it was done at %d and at %d", done[0], done[len(done)-1])
		}
	}
	realTime(h, r)
}

// replacedBy returns the revision of the object that a write, by its response, has replaced; zero: there was none.
func (h *History) replacedBy(w *Write) int64 {
	for _, c := range h.Truth.At(w.Revision) {
		if c.Key == w.Keys[0] && c.Before != nil {
			return c.Before.Revision
		}
	}
	return 0
}

// effects returns the revisions at which values were written, and at which objects of a revision were deleted.
func (h *History) effects() (values map[string][]int64, deletions map[at][]int64) {
	values, deletions = make(map[string][]int64), make(map[at][]int64)
	for _, c := range h.Truth.Changes() {
		switch {
		case c.After != nil && (c.Before == nil || c.Before.Value != c.After.Value):
			values[c.After.Value] = append(values[c.After.Value], c.Revision)
		case c.After == nil && c.Before != nil:
			deletion := at{c.Key, c.Before.Revision}
			deletions[deletion] = append(deletions[deletion], c.Revision)
		}
	}
	return values, deletions
}

// realTime checks that the order of revisions is an order of the writes that real time allows.
func realTime(h *History, r *report) {
	acknowledgedBefore := h.acknowledgements()
	for _, w := range h.Writes {
		if w.Outcome != Acknowledged || w.Revision == 0 {
			continue
		}
		if before := acknowledgedBefore(w.Sent); before >= w.Revision {
			r.add(w.Writer, "its write of %s is at %d, but one at %d had been acknowledged before it was sent", w.Keys[0], w.Revision, before)
		}
	}
}
