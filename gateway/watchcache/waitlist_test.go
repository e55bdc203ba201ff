package watchcache

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"revtail/etcdstore"
)

// shift is a crew that serves as an event loop does: one batch for each woken watcher, and then for those that do not wait yet.
type shift struct {
	*crew
	queue    []*Watcher
	watchers []*Watcher
}

func newShift(w *world, start etcdstore.Revision) *shift {
	s := &shift{crew: newCrew(w)}
	for name, q := range map[string]WatchQuery{
		"all": {}, "all, too": {}, "b": {Namespace: "b"}, "x": {Name: "x"}, "label": {Selector: parse(w.t, "l=1", "")},
	} {
		s.watchers = append(s.watchers, s.attach(name, start, q))
	}
	return s
}

// round is one round of an event loop; false: no watcher had events.
func (s *shift) round() bool {
	queue := slices.Concat(append(s.ready.Take(), s.queue)...)
	s.queue = nil
	for _, watcher := range queue {
		if s.step(watcher) && !watcher.Waiting() {
			s.queue = append(s.queue, watcher)
		}
	}
	return len(queue) > 0
}

// Watchers that poll until they wait get every event, however slowly they are served.
func TestWaitingWatchersGetEveryEvent(t *testing.T) {
	const gap = 2 * time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		var want map[string][]string
		var got [2]map[string][]string
		bubble(t, nil, func(w *world) {
			start := w.put("a/x", "1", "")
			w.setGap(gap)
			one, other, truth := newShift(w, start), newShift(w, start), newShift(w, start)
			acts := []func(){
				func() { w.put("a/x", "1", "") },
				func() { w.put("b/x", "2", "") },
				func() { w.put("b/y", "1", "") },
				func() { w.puts(batchEvents + 1) },
				func() { <-time.After(gap / 2) },
				func() { <-time.After(maxGap) },
				func() { one.round() },
				func() { other.round() },
				func() { one.step(one.watchers[0]) },
				func() { other.poll(other.watchers[1]) }, // as for a bookmark
			}
			for _, i := range steps {
				acts[i]()
				synctest.Wait()
			}
			<-time.After(maxGap)
			synctest.Wait()
			for one.round() || other.round() {
			}
			for _, watcher := range truth.watchers {
				truth.poll(watcher)
			}
			want, got = truth.got, [2]map[string][]string{one.got, other.got}
		})
		for i := range got {
			if diff := cmp.Diff(want, got[i]); diff != "" {
				rt.Fatalf("writer %d (- want, + got):\n%s", i, diff)
			}
		}
	})
}
