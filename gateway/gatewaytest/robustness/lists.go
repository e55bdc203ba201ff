package robustness

import (
	"cmp"
	"slices"
	"time"
)

// lists returns the lists of the watchers and of the others, by the time of the request.
func (h *History) lists() []*List {
	lists := slices.Clone(h.Lists)
	for _, w := range h.Watchers {
		for _, step := range w.Steps {
			if step.List != nil {
				lists = append(lists, step.List)
			}
		}
	}
	slices.SortFunc(lists, func(a, b *List) int { return a.Sent.Compare(b.Sent) })
	return lists
}

// freshList checks that a list is the state at its revision, that a consistent one is not older than any write acknowledged before its
// request, that others have the requested age, and that a gateway does not go back in time.
func freshList(h *History, _ Rules, r *report) {
	lists := h.lists()
	acknowledgedBefore := h.acknowledgements()
	type replica struct{ gateway, life int }
	answered := make(map[replica][]*List)
	for _, l := range lists {
		switch l.Kind {
		case Consistent, Paged:
			if least := acknowledgedBefore(l.Sent); l.Revision < least {
				r.add(l, "a write had been acknowledged at %d before it was asked for", least)
			}
		case NotOlder:
			if l.Revision < l.Asked {
				r.add(l, "not older than %d was asked for", l.Asked)
			}
		case Exact:
			if l.Revision != l.Asked {
				r.add(l, "exactly %d was asked for", l.Asked)
			}
			continue // an earlier revision is allowed
		}
		of := replica{l.Gateway, l.Life}
		for _, before := range answered[of] {
			if before.Answered.Before(l.Sent) && before.Revision > l.Revision {
				r.add(l, "the same gateway had answered at %d before", before.Revision)
				break
			}
		}
		if n := len(answered[of]); n == 0 || answered[of][n-1].Revision < l.Revision {
			answered[of] = append(answered[of], l)
		}
	}
	compareStates(h, lists, r)
}

// acknowledgements returns the greatest revision that had been acknowledged before a time.
func (h *History) acknowledgements() func(time.Time) int64 {
	writes := slices.DeleteFunc(slices.Clone(h.Writes), func(w *Write) bool { return w.Outcome != Acknowledged })
	slices.SortFunc(writes, func(a, b *Write) int { return a.Answered.Compare(b.Answered) })
	greatest := make([]int64, len(writes))
	var revision int64
	for i, w := range writes {
		revision = max(revision, w.Revision)
		greatest[i] = revision
	}
	return func(t time.Time) int64 {
		n, _ := slices.BinarySearchFunc(writes, t, func(w *Write, t time.Time) int { return w.Answered.Compare(t) })
		if n == 0 {
			return 0
		}
		return greatest[n-1]
	}
}

// compareStates compares the items of lists with the state at their revisions, which is computed once.
func compareStates(h *History, lists []*List, r *report) {
	lists = slices.Clone(lists)
	slices.SortStableFunc(lists, func(a, b *List) int { return cmp.Compare(a.Revision, b.Revision) })
	everything := h.Truth.View(Scope{})
	state := make(map[string]Object)
	for _, l := range lists {
		for len(everything) > 0 && everything[0].Object.Revision <= l.Revision {
			if seen := everything[0]; seen.Type == deleted {
				delete(state, seen.Object.Key())
			} else {
				state[seen.Object.Key()] = seen.Object
			}
			everything = everything[1:]
		}
		want := make(map[string]Object)
		for key, o := range state {
			if l.Scope.Holds(&o) {
				want[key] = o
			}
		}
		compareState(l.Items, want, func(format string, args ...any) { r.add(l, format, args...) })
	}
}

// compareState returns the differences between items and the expected state.
func compareState(items []Object, want map[string]Object, differs func(format string, args ...any)) {
	seen := make(map[string]bool)
	for _, item := range items {
		key := item.Key()
		o, ok := want[key]
		switch {
		case seen[key]:
			differs("%s is there twice", key)
		case !ok:
			differs("%s at %d is there, and is not in etcd", key, item.Revision)
		case o.Revision != item.Revision:
			differs("%s is at %d, in etcd at %d", key, item.Revision, o.Revision)
		case o.Digest != item.Digest:
			differs("%s at %d has other content than in etcd", key, item.Revision)
		}
		seen[key] = true
	}
	for key, o := range want {
		if !seen[key] {
			differs("%s at %d is missing", key, o.Revision)
		}
	}
}
