package robustness

// nonVacuous checks that enough happened to test the other promises, and that everything worked in the end.
func nonVacuous(h *History, rules Rules, r *report) {
	least := func(what string, got, want int) {
		if got < want {
			r.add("the scenario", "%d %s, want %d at least", got, what, want)
		}
	}
	f := h.figures()
	least("events", f.Events, rules.Events)
	least("resumes", f.Resumes, rules.Resumes)
	least("acknowledged writes", f.Acknowledged, rules.Acknowledged)
	least("faults", len(h.Faults), rules.Faults)
	if last := h.lastFault(); rules.Acknowledged > 0 && !last.IsZero() && !h.acknowledgedAfter(last) {
		r.add("the scenario", "no write was acknowledged after the last fault")
	}
	for _, w := range h.Watchers {
		if w.Quiet || len(h.Truth.View(w.Scope)) == 0 {
			continue
		}
		if !w.opened() {
			r.add(w.Name, "none of its watches was ever opened")
		}
	}
}

func (w *Watching) opened() bool {
	for _, step := range w.Steps {
		if step.Stream != nil && !step.Stream.Opened.IsZero() {
			return true
		}
	}
	return false
}
