package watchcache

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
)

// crew serves attached watchers as an event loop does: each woken watcher polls until it waits.
type crew struct {
	w        *world
	ready    *ReadyList
	notified int
	reader   Reader
	got      map[string][]string // by the watcher's name
}

func newCrew(w *world) *crew {
	c := &crew{w: w, got: map[string][]string{}}
	c.ready = NewReadyList(func() { c.notified++ })
	return c
}

func (c *crew) attach(name string, after etcdstore.Revision, q WatchQuery) *Watcher {
	c.w.t.Helper()
	q.After = after
	watcher := c.w.watch(q)
	watcher.Begin(c.w.t.Context())
	watcher.Attach(c.ready, name)
	c.poll(watcher)
	return watcher
}

func (c *crew) poll(watcher *Watcher) {
	c.w.t.Helper()
	for c.step(watcher) {
	}
}

// step polls once; false: no event.
func (c *crew) step(watcher *Watcher) bool {
	c.w.t.Helper()
	batch, _, err := c.reader.Poll(watcher)
	if err != nil {
		c.w.t.Fatal(err)
	}
	name := Owners(nil, []*Watcher{watcher})[0].(string)
	for _, change := range batch.Changes {
		c.got[name] = append(c.got[name], fmt.Sprint(change.Type, " ", change.Object.Path(), " ", change.Revision))
	}
	return len(batch.Changes) > 0
}

func (c *crew) serve() (woken int) {
	c.w.t.Helper()
	for _, together := range c.ready.Take() {
		for _, watcher := range together {
			woken++
			c.poll(watcher)
		}
	}
	return woken
}

// Attached watchers get their slices, also among many other events.
func TestReadyWatchersGetTheirSlices(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "one", "")
		for range 300 { // more than one read
			w.put("a/y", "other", "")
		}
		c := newCrew(w)
		c.attach("all of b", start, WatchQuery{Namespace: "b"})
		c.attach("again all of b", start, WatchQuery{Namespace: "b"})
		c.attach("label", start, WatchQuery{Selector: parse(w.t, "l=one", "")})
		c.attach("name", start, WatchQuery{Name: "z"})
		if woken := c.serve(); woken != 0 {
			t.Errorf("%d watchers woke before a write", woken)
		}
		w.put("b/z", "two", "")
		if woken := c.serve(); woken != 3 {
			t.Errorf("%d watchers woke, want those of the namespace and the name", woken)
		}
		w.put("b/z", "one", "")
		w.put("a/y", "other", "")
		w.put("b/z", "two", "")
		c.serve()
		added, first, second := "ADDED b/z 303", "MODIFIED b/z 304", "MODIFIED b/z 306"
		want := map[string][]string{
			"all of b": {added, first, second}, "again all of b": {added, first, second}, "name": {added, first, second},
			"label": {"ADDED b/z 304", "DELETED b/z 306"},
		}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("(- want, + got):\n%s", diff)
		}
		if c.notified == 0 {
			t.Error("the ready list has not called its notification")
		}
	})
}

// A closed watcher is in no wait list, and a detached one works with Next again.
func TestReadyListForgetsClosedWatchers(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		c := newCrew(w)
		var open []*Watcher
		for i := range 5 {
			watcher, err := w.cache.Watch(WatchQuery{After: start, Selector: parse(w.t, fmt.Sprintf("l=%d", i), "")})
			if err != nil {
				t.Fatal(err)
			}
			watcher.Begin(t.Context())
			watcher.Attach(c.ready, "")
			c.poll(watcher)
			open = append(open, watcher)
		}
		kept := c.attach("kept", start, WatchQuery{})
		for _, i := range []int{2, 0, 4, 3, 1} {
			open[i].Close()
		}
		w.cache.mu.Lock()
		if len(w.cache.waitLists) != 1 || len(w.cache.indexes) != 0 {
			t.Errorf("%d wait lists and %d indexes, want that of the remaining watcher", len(w.cache.waitLists), len(w.cache.indexes))
		}
		w.cache.mu.Unlock()
		kept.Detach()
		w.put("a/x", "3", "")
		w.expect(kept, "MODIFIED a/x l=3 rv=3")
		if woken := c.serve(); woken != 0 {
			t.Errorf("%d watchers are ready, want none", woken)
		}
	})
}

// Large wait groups use the memory of those that have woken, which small ones would waste.
func TestWaitGroupsReuseMemory(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "one", "")
		c := newCrew(w)
		c.attach("alone", start, WatchQuery{Name: "y"})
		for range 1000 {
			c.attach("all", start, WatchQuery{})
		}
		w.put("a/x", "one", "")
		woken := c.ready.Take()
		if len(woken) != 1 || len(woken[0]) != 1000 {
			t.Fatalf("%d groups", len(woken))
		}
		memory := &woken[0][0]
		for _, watcher := range woken[0] {
			c.poll(watcher)
		}
		c.ready.Reuse(woken[0])
		w.put("a/y", "one", "") // wakes both groups, which wait again
		for _, group := range c.ready.Take() {
			for _, watcher := range group {
				c.poll(watcher)
			}
		}
		w.put("a/y", "one", "")
		for _, group := range c.ready.Take() {
			if large := len(group) == 1000; large != (&group[0] == memory) {
				t.Errorf("a group of %d watchers has reused memory: %v", len(group), !large)
			}
		}
	})
}
