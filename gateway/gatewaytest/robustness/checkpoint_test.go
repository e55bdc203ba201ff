package robustness

import (
	"slices"
	"testing"
)

// newSplit returns a run whose clients have all of a good history, with the state of etcd.
func newSplit(seed uint64) (r *Run, objects []*Object) {
	r = &Run{present: newSample(seed), timelineOf: make(map[*Watching]*History)}
	for _, log := range r.present.Watchers {
		w := &watcher{Client: Client{Name: log.Name, Scope: log.Scope}, run: r, log: log, listed: true}
		last := log.Steps[len(log.Steps)-1].Stream
		log.Steps = log.Steps[:len(log.Steps)-1]
		w.through.Store(last.Last())
		w.open = last
		r.watchers = append(r.watchers, w)
	}
	for _, o := range r.present.Truth.State(Scope{}, r.present.Truth.Through()) {
		objects = append(objects, &o)
	}
	return r, objects
}

// next splits all clients. Their streams end after more lines.
func (r *Run) next(objects []*Object, more ...Line) *History {
	next := &History{Truth: NewTruth(r.present.Truth.Through(), objects)}
	for _, w := range r.watchers {
		if w.split(next); w.log != nil {
			w.open.Lines, w.open.End = append(w.open.Lines, more...), Closed
			w.log.Steps = append(w.log.Steps, Step{Stream: w.open})
		}
	}
	return next
}

// TestSplit checks that both parts of a good history are good, that no line gets lost, and that the clients go on with the whole state.
func TestSplit(t *testing.T) {
	for seed := range uint64(10) {
		r, objects := newSplit(seed)
		next := r.next(objects)
		for _, v := range Validate(r.present, sampleRules) {
			t.Errorf("seed %d, the first part: %s", seed, v)
		}
		for _, v := range Validate(next, Rules{}) {
			t.Errorf("seed %d, the second part: %s", seed, v)
		}
		if len(next.Watchers) != len(r.watchers) {
			t.Fatalf("seed %d: %d clients go on, want %d", seed, len(next.Watchers), len(r.watchers))
		}
		for i, w := range next.Watchers {
			if items := w.Steps[0].List.Items; w.Scope == (Scope{}) && len(items) != len(objects) {
				t.Errorf("seed %d: %s goes on with %d objects, want %d", seed, w.Name, len(items), len(objects))
			}
			if open := r.watchers[i].open; len(open.Lines) > 0 {
				t.Errorf("seed %d: the second part has lines of the first one: %v", seed, open)
			}
		}
	}
}

// TestSplitKeepsFaults checks that an event that clients did not get is missed in the first part, and found in the second one, where it comes
// too late.
func TestSplitKeepsFaults(t *testing.T) {
	r, objects := newSplit(1)
	open := r.watchers[0].open
	lost := slices.IndexFunc(open.Lines, func(l Line) bool { return l.IsEvent() && l.Object.Revision > open.From })
	late := open.Lines[lost]
	open.Lines = slices.Delete(open.Lines, lost, lost+1)
	next := r.next(objects, late)
	for part, h := range []*History{r.present, next} {
		if !slices.ContainsFunc(Validate(h, sampleRules), func(v Violation) bool { return v.Promise == "reliable" }) {
			t.Errorf("the lost event is not noticed in part %d", part+1)
		}
	}
}

// TestSplitOfClientWithoutList checks that a client that has to list again begins the next history by its list.
func TestSplitOfClientWithoutList(t *testing.T) {
	r, objects := newSplit(1)
	r.watchers[0].listed, r.watchers[0].open = false, nil
	next := r.next(objects)
	if w := r.watchers[0]; w.log != nil || len(next.Watchers) != len(r.watchers)-1 {
		t.Errorf("its log is %v, and %d clients go on", w.log, len(next.Watchers))
	}
}
