package robustness

// finalState checks that in the end every client has, from its last list and all events since, exactly the state of etcd.
func finalState(h *History, _ Rules, r *report) {
	newest := h.Truth.Through()
	for _, w := range h.Watchers {
		state, ok := w.fold()
		if !ok {
			r.add(w.Name, "the client never got a list")
			continue
		}
		var items []Object
		for _, o := range state {
			items = append(items, o)
		}
		compareState(items, h.Truth.State(w.Scope, newest), func(format string, args ...any) { r.add(w.Name, format, args...) })
	}
}

// fold returns a client's state in the end; false: it never began.
func (w *Watching) fold() (map[string]Object, bool) {
	state := make(map[string]Object)
	began := false
	for _, step := range w.Steps {
		if step.List != nil {
			clear(state)
			began = true
			for _, o := range step.List.Items {
				state[o.Key()] = o
			}
			continue
		}
		for _, line := range step.Stream.events() {
			if line.Type == deleted {
				delete(state, line.Object.Key())
			} else {
				state[line.Object.Key()] = line.Object
			}
		}
	}
	return state, began
}

// agreement checks that all who get a change get the same one: clients from their gateways, and the test from the members of etcd.
func agreement(h *History, _ Rules, r *report) {
	for _, dispute := range h.Truth.Disputes() {
		r.add("etcd", "%s", dispute)
	}
	type content struct {
		digest uint64
		who    string
	}
	contents := make(map[at]content)
	say := func(change at, digest uint64, who string) {
		known, ok := contents[change]
		if !ok {
			contents[change] = content{digest, who}
			return
		}
		if known.digest != digest {
			r.add(who, "%s at %d differs from what %s got", change.key, change.revision, known.who)
		}
	}
	h.streams(func(w *Watching, s *Stream) {
		for _, line := range s.events() {
			if line.Type != deleted {
				say(at{line.Object.Key(), line.Object.Revision}, line.Object.Digest, w.Name)
			}
		}
	})
	for _, l := range h.lists() {
		for _, o := range l.Items {
			say(at{o.Key(), o.Revision}, o.Digest, l.Reader)
		}
	}
}
