package robustness

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"
)

// Change is one change of one key, as etcd sends it.
type Change struct {
	Revision int64     `json:"revision"`
	Key      string    `json:"key"`
	Value    []byte    `json:"value,omitempty"` // nil: deleted
	At       time.Time `json:"at"`              // when it was first received

	Before *Object `json:"before,omitempty"` // nil: there was none, or the key is not of the resource
	After  *Object `json:"after,omitempty"`
}

// Seen is a change as a client with a scope must get it.
type Seen struct {
	Type   string
	Object Object // with the revision of the change
	At     time.Time
}

// See returns the change as a scope shows it; false: it does not.
func (c *Change) See(in Scope) (Seen, bool) {
	was, is := in.Holds(c.Before), in.Holds(c.After)
	seen := Seen{At: c.At}
	switch {
	case was && is:
		seen.Type, seen.Object = modified, *c.After
	case is:
		seen.Type, seen.Object = added, *c.After
	case was:
		seen.Type, seen.Object = deleted, *c.Before
	default:
		return Seen{}, false
	}
	seen.Object.Revision = c.Revision
	return seen, true
}

// Truth is etcd's own history, from the changes of its members. Every revision of etcd changes at least one key, and all keys are watched,
// so a missing revision would be noticed.
type Truth struct {
	mu       sync.Mutex // guards the fields below
	base     int64      // the revision that it begins after
	changes  []Change
	starts   []int // index of the first change of revision base+1+i
	objects  map[string]*Object
	disputes []string
	views    map[Scope][]Seen
}

// NewTruth returns a truth that begins with a state at a revision.
func NewTruth(base int64, objects []*Object) *Truth {
	t := &Truth{base: base, objects: make(map[string]*Object), views: make(map[Scope][]Seen)}
	objects = slices.Clone(objects)
	sort.Slice(objects, func(i, j int) bool { return objects[i].Revision < objects[j].Revision })
	for _, o := range objects { // each as if it had been created by its last change
		t.objects[o.Key()] = o
		t.changes = append(t.changes, Change{Revision: o.Revision, Key: o.Key(), After: o})
	}
	return t
}

// Fork returns the truth of an etcd that was restored to a revision, and continued from there.
func (t *Truth) Fork(through int64) *Truth {
	t.mu.Lock()
	defer t.mu.Unlock()
	fork := NewTruth(t.base, nil)
	for revision := t.base + 1; revision <= min(through, t.through()); revision++ {
		fork.addRevision(t.at(revision))
	}
	return fork
}

// Through returns the revision up to which the truth is known.
func (t *Truth) Through() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.through()
}

func (t *Truth) through() int64 { return t.base + int64(len(t.starts)) }

// Add adds whole revisions from one member, and compares them with those of other members.
func (t *Truth) Add(changes []Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Revision == changes[0].Revision {
			n++
		}
		t.addRevision(changes[:n])
		changes = changes[n:]
	}
}

func (t *Truth) addRevision(changes []Change) {
	revision := changes[0].Revision
	switch through := t.through(); {
	case revision <= t.base:
		return
	case revision <= through:
		t.compare(revision, changes)
		return
	case revision != through+1:
		t.dispute("etcd told revision %d after %d", revision, through)
		return
	}
	t.starts = append(t.starts, len(t.changes))
	for _, c := range changes {
		t.changes = append(t.changes, t.resolve(c))
	}
	clear(t.views)
}

// resolve adds the object of the change, if the key is one of the resource.
func (t *Truth) resolve(c Change) Change {
	if len(c.Key) <= len(prefix) || c.Key[:len(prefix)] != prefix {
		return c
	}
	c.Before = t.objects[c.Key]
	if c.Value == nil {
		delete(t.objects, c.Key)
		return c
	}
	o, _, err := parseObject(c.Value)
	if err != nil {
		t.dispute("revision %d of %s: %v", c.Revision, c.Key, err)
		return c
	}
	o.Revision = c.Revision
	c.After = &o
	t.objects[c.Key] = &o
	return c
}

func (t *Truth) compare(revision int64, changes []Change) {
	known := t.at(revision)
	same := slices.EqualFunc(sorted(known), sorted(changes), func(a, b Change) bool {
		return a.Key == b.Key && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	})
	if !same {
		t.dispute("members tell revision %d differently: %d changes and %d", revision, len(known), len(changes))
	}
}

func sorted(changes []Change) []Change {
	changes = slices.Clone(changes)
	sort.Slice(changes, func(i, j int) bool { return changes[i].Key < changes[j].Key })
	return changes
}

func (t *Truth) dispute(format string, args ...any) {
	t.disputes = append(t.disputes, fmt.Sprintf(format, args...))
}

func (t *Truth) disputeNow(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dispute(format, args...)
}

// at returns the changes of one revision.
func (t *Truth) at(revision int64) []Change {
	i := revision - t.base - 1
	if i < 0 || i >= int64(len(t.starts)) {
		return nil
	}
	end := len(t.changes)
	if i+1 < int64(len(t.starts)) {
		end = t.starts[i+1]
	}
	return t.changes[t.starts[i]:end]
}

// At returns the changes of one revision.
func (t *Truth) At(revision int64) []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at(revision)
}

// Changes returns all changes, in order.
func (t *Truth) Changes() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// Disputes returns the contradictions among the changes of etcd's members.
func (t *Truth) Disputes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disputes
}

// View returns the whole history as a scope shows it.
func (t *Truth) View(in Scope) []Seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	if view, ok := t.views[in]; ok {
		return view
	}
	var view []Seen
	for i := range t.changes {
		if seen, ok := t.changes[i].See(in); ok {
			view = append(view, seen)
		}
	}
	t.views[in] = view
	return view
}

// Slice returns the part of a view with the revisions later than after, up to and including through.
func (t *Truth) Slice(in Scope, after, through int64) []Seen {
	view := t.View(in)
	from := sort.Search(len(view), func(i int) bool { return view[i].Object.Revision > after })
	to := sort.Search(len(view), func(i int) bool { return view[i].Object.Revision > through })
	if to < from {
		return nil
	}
	return view[from:to]
}

// State returns the objects of a scope at a revision, by key.
func (t *Truth) State(in Scope, revision int64) map[string]Object {
	state := make(map[string]Object)
	for _, seen := range t.Slice(in, 0, revision) {
		if seen.Type == deleted {
			delete(state, seen.Object.Key())
		} else {
			state[seen.Object.Key()] = seen.Object
		}
	}
	return state
}
