package robustness

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"time"
)

// sample makes the history of a perfect gateway: random writes, of one key and of several, and clients that list, follow, are disconnected
// in the middle of revisions, and resume.
type sample struct {
	random  *rand.Rand
	history *History
	now     time.Time
	objects map[string]*Object
	next    int64 // revision
}

func newSample(seed uint64) *History {
	s := &sample{
		random: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a repeatable sample
		now:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), objects: make(map[string]*Object), next: 2,
	}
	s.history = &History{Truth: NewTruth(1, nil)}
	for range 400 {
		s.write()
	}
	s.history.addFault("nothing")
	s.history.Faults[0].At = s.now
	for range 20 {
		s.write()
	}
	for i, scope := range []Scope{{}, {}, {Namespace: "a"}, {Label: "color=red"}, {Namespace: "b", Label: "color=blue"}, {Namespace: "a", Name: "n1"}} {
		s.watch(fmt.Sprint("watcher-", i), scope)
	}
	for i := range 20 {
		s.list(i)
	}
	return s.history
}

func (s *sample) tick() time.Time {
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

func (s *sample) oneOf(n int) bool { return s.random.IntN(n) == 0 }

// write changes one key, or several at once.
func (s *sample) write() {
	n := 1
	if s.oneOf(5) {
		n = 4
	}
	w := &Write{Writer: "writer", Verb: "put", Value: fmt.Sprint("v", s.next), Outcome: Acknowledged, Revision: s.next, Sent: s.tick()}
	keys := map[string]bool{}
	var changes []Change
	for range n {
		o := Object{Namespace: []string{"a", "b"}[s.random.IntN(2)], Name: fmt.Sprint("n", s.random.IntN(4)), Value: w.Value,
			Labels: map[string]string{"color": []string{"red", "blue"}[s.random.IntN(2)]}}
		if keys[o.Key()] {
			continue
		}
		keys[o.Key()] = true
		value := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q,"labels":{"color":%q}},"data":{"value":%q}}`, o.Namespace, o.Name, o.Labels["color"], o.Value)
		if old := s.objects[o.Key()]; old != nil && s.oneOf(3) {
			value = nil
			w.Replaces, w.Verb = old.Revision, "delete"
			delete(s.objects, o.Key())
		} else {
			s.objects[o.Key()] = &Object{Revision: s.next}
		}
		w.Keys = append(w.Keys, o.Key())
		changes = append(changes, Change{Revision: s.next, Key: o.Key(), Value: value, At: s.tick()})
	}
	s.history.Truth.Add(changes)
	if len(changes) > 1 {
		w.Value, w.Replaces = "", 0 // some may be deletes
	} else if w.Replaces != 0 {
		w.Value = ""
	}
	s.next++
	w.Answered = s.tick()
	s.history.Writes = append(s.history.Writes, w)
}

func (s *sample) watch(name string, scope Scope) {
	w := &Watching{Name: name, Scope: scope}
	t := s.history.Truth
	list := s.stateAt(Any, scope, 10)
	list.Reader = name
	w.Steps = append(w.Steps, Step{List: list})
	token := list.Revision
	for token < t.Through() {
		stream := &Stream{From: token, Sent: s.tick(), Opened: s.tick(), End: Closed, Ended: s.tick()}
		through := min(t.Through(), token+int64(20+s.random.IntN(60)))
		after := token
		if len(t.Slice(scope, token-1, token)) > 1 {
			after-- // a replay
		}
		seen := t.Slice(scope, after, through)
		for i, e := range seen {
			stream.Lines = append(stream.Lines, Line{s.tick(), &Frame{Type: e.Type, Object: e.Object}})
			whole := i+1 == len(seen) || seen[i+1].Object.Revision != e.Object.Revision
			if whole && s.oneOf(4) {
				stream.Lines = append(stream.Lines, Line{s.tick(), &Frame{Type: bookmark, Object: Object{Revision: e.Object.Revision}}})
			}
		}
		switch {
		case through == t.Through():
		case s.oneOf(2):
			stream.End = Clean
			stream.Lines = append(stream.Lines, Line{s.tick(), &Frame{Type: bookmark, Object: Object{Revision: through}}})
		default:
			stream.End = Cut
			if n := len(stream.Lines); n > 1 && stream.Lines[n-1].IsEvent() {
				stream.Lines = stream.Lines[:n-1] // possibly inside a revision
			}
		}
		w.Steps = append(w.Steps, Step{Stream: stream})
		if stream.Last() == token && stream.End == Cut {
			stream.Lines = append(stream.Lines, Line{s.tick(), &Frame{Type: bookmark, Object: Object{Revision: through}}})
		}
		if token = stream.Last(); through == t.Through() {
			break
		}
	}
	s.history.Watchers = append(s.history.Watchers, w)
}

func (s *sample) stateAt(kind ListKind, scope Scope, revision int64) *List {
	list := &List{Kind: kind, Scope: scope, Revision: revision, Asked: revision, Sent: s.tick(), Answered: s.tick(), Reader: "lister", Gateway: -1, Life: int(s.next)}
	s.next++ // each list after another restart, because they go back in time
	for _, o := range s.history.Truth.State(scope, revision) {
		list.Items = append(list.Items, o)
	}
	sort.Slice(list.Items, func(i, j int) bool { return list.Items[i].Key() < list.Items[j].Key() })
	return list
}

func (s *sample) list(i int) {
	through := s.history.Truth.Through()
	switch i % 4 {
	case 0:
		s.history.Lists = append(s.history.Lists, s.stateAt(Consistent, Scope{}, through))
	case 1:
		s.history.Lists = append(s.history.Lists, s.stateAt(Any, Scope{Namespace: "a"}, through-int64(s.random.IntN(50))))
	case 2:
		s.history.Lists = append(s.history.Lists, s.stateAt(NotOlder, Scope{}, through-5))
	default:
		s.history.Lists = append(s.history.Lists, s.stateAt(Exact, Scope{Label: "color=red"}, int64(20+s.random.IntN(300))))
	}
}
