package watchcache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"revtail/gateway/watchcache/filter"
)

// TestFilterIsEvaluatedOnce checks that all watchers with the same filter share one evaluation for each state of an event.
func TestFilterIsEvaluatedOnce(t *testing.T) {
	for _, test := range []struct {
		text    string
		created uint64 // number of evaluations for a created object
		changed uint64 // number of evaluations for a changed object
	}{
		{`object.spec.value == "1"`, 1, 2},
		{`type != "MODIFIED" || object.spec != old.spec`, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			dialect := filter.Objects()
			same, err := dialect.Compile(test.text)
			if err != nil {
				t.Fatal(err)
			}
			watchers := make([]*Watcher, 1000)
			for i := range watchers {
				q := WatchQuery{Filter: same}
				if i%2 == 1 {
					q.Namespace = "a" // another scope, so only the results are shared
				}
				watchers[i] = w.watch(q)
				w.expect(watchers[i])
			}
			for _, step := range []struct {
				value string
				want  uint64
			}{{"1", test.created}, {"2", test.changed}} {
				before := dialect.Evaluated()
				w.put("a/x", "l", step.value)
				for _, watcher := range watchers {
					if changes, _, err := w.drain(watcher); len(changes) != 1 || err != nil {
						t.Fatalf("%v, %v, want one change", changes, err)
					}
				}
				if got := dialect.Evaluated() - before; got != step.want {
					t.Errorf("%s: evaluated %d times for 1,000 watchers, want %d", test.text, got, step.want)
				}
			}
		})
	}
}

// TestFilterTransitions checks that an object that no longer matches is DELETED in its last state, and that one that starts to match is
// ADDED.
func TestFilterTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		states := w.watch(WatchQuery{Filter: compile(t, `object.spec.value == "1"`)})
		both := w.watch(WatchQuery{Filter: compile(t, `object.spec.value == "1"`), Selector: parse(t, "l=in", "")})
		changed := w.watch(WatchQuery{Filter: compile(t, `old != null && object.spec.value != old.spec.value`)})
		keys := w.watch(WatchQuery{Filter: compile(t, `key == "/registry/things/a/y"`)})
		w.put("a/x", "in", "0")
		w.put("a/x", "in", "1")  // 3
		w.put("a/x", "out", "1") // 4
		w.put("a/x", "in", "2")  // 5
		w.put("a/x", "in", "2")
		w.put("a/x", "in", "1") // 7
		w.remove("a/x")         // 8
		w.put("a/y", "in", "0") // 9
		w.expect(states, "ADDED a/x l=in rv=3", "MODIFIED a/x l=out rv=4", "DELETED a/x l=out rv=5", "ADDED a/x l=in rv=7", "DELETED a/x l=in rv=8")
		w.expect(both, "ADDED a/x l=in rv=3", "DELETED a/x l=in rv=4", "ADDED a/x l=in rv=7", "DELETED a/x l=in rv=8")
		w.expect(changed, "MODIFIED a/x l=in rv=3", "MODIFIED a/x l=in rv=5", "MODIFIED a/x l=in rv=7")
		w.expect(keys, "ADDED a/y l=in rv=9")
		// From here on all watchers have the same position, so that one could get the batch of another.
		all := w.watch(WatchQuery{})
		w.expect(all)
		w.put("a/y", "in", "1") // 10
		w.put("a/x", "in", "1") // 11
		w.expect(all, "MODIFIED a/y l=in rv=10", "ADDED a/x l=in rv=11")
		w.put("a/y", "in", "0") // 12
		w.put("a/x", "in", "1") // 13
		w.expect(states, "ADDED a/y l=in rv=10", "ADDED a/x l=in rv=11", "DELETED a/y l=in rv=12", "MODIFIED a/x l=in rv=13")
		w.expect(all, "MODIFIED a/y l=in rv=12", "MODIFIED a/x l=in rv=13")
		w.expect(changed, "MODIFIED a/y l=in rv=10", "MODIFIED a/y l=in rv=12")
		w.expect(keys, "MODIFIED a/y l=in rv=10", "MODIFIED a/y l=in rv=12")
	})
}

// expensive is a filter that exceeds the cost limit for an object with a long value.
const expensive = `object.spec.value.matches("^(a?){900}b*$") || true`

// TestFilterThatCostsTooMuch checks that the watch ends with an error that names the key, after all earlier events.
func TestFilterThatCostsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		late, early := w.watch(WatchQuery{Filter: compile(t, expensive)}), w.watch(WatchQuery{Filter: compile(t, expensive)})
		w.expect(early)
		w.put("a/x", "l", "1")
		w.expect(early, "ADDED a/x l=l rv=2")
		w.store.Txn(map[string][]byte{root + "a/y": thing("a/y", "l", "1"), root + "a/z": thing("a/z", "l", strings.Repeat("a", 1<<20))}, nil)
		synctest.Wait()
		for watcher, want := range map[*Watcher]int{late: 1, early: 0} {
			changes, through, err := w.drain(watcher)
			var cost *filter.CostError
			if !errors.As(err, &cost) || cost.Key != root+"a/z" {
				t.Errorf("%v, want a CostError", err)
			}
			if len(changes) != want || want > 0 && through != 2 {
				t.Errorf("before it %v up to %d, want %d up to 2", changes, through, want)
			}
			if _, err := watcher.Poll(); !errors.As(err, &cost) {
				t.Errorf("after it: %v", err)
			}
		}
		if _, err := w.cache.List(t.Context(), ListQuery{Filter: compile(t, expensive)}); !errors.As(err, new(*filter.CostError)) {
			t.Errorf("list: %v, want a CostError", err)
		}
		_, _, err := w.drain(w.watch(WatchQuery{State: true, Filter: compile(t, expensive)}))
		if !errors.As(err, new(*filter.CostError)) {
			t.Errorf("initial events: %v, want a CostError", err)
		}
	})
}

// TestFilterWithManyOthers checks that an event computes the results that it has not stored.
func TestFilterWithManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		dialect := filter.Objects()
		watchers := make([]*Watcher, 350)
		for i := range watchers {
			f, err := dialect.Compile(fmt.Sprintf(`int(object.spec.value) == %d`, i))
			if err != nil {
				t.Fatal(err)
			}
			watchers[i] = w.watch(WatchQuery{Filter: f})
		}
		w.put("a/x", "l", "300")
		for i, watcher := range watchers {
			changes, _, err := w.drain(watcher)
			if (len(changes) == 1) != (i == 300) || err != nil {
				t.Errorf("watcher %d: %v, %v", i, changes, err)
			}
		}
	})
}

// TestListFilter checks that pages of a filtered list are full, and that only the last one has no continue token.
func TestListFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var want []string
		for i := range 20 {
			w.put(fmt.Sprintf("a/%02d", i), "l", fmt.Sprint(i))
			if i%3 == 0 {
				want = append(want, fmt.Sprintf("a/%02d", i))
			}
		}
		third := compile(t, `int(object.spec.value) % 3 == 0`)
		for _, limit := range []int{0, 1, 2, 3, 7, 8} {
			var got []string
			pages := 0
			for q := (ListQuery{Filter: third, Limit: limit}); pages == 0 || q.After != ""; pages++ {
				list, err := w.cache.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for o := range list.Objects {
					got = append(got, o.Path())
					n++
				}
				if list.Remaining != nil || list.Text != nil || list.Continue != "" && n != limit {
					t.Errorf("limit %d: a page of %d, %v remaining", limit, n, list.Remaining)
				}
				q.After = list.Continue
			}
			if !slices.Equal(got, want) || limit > 0 && pages != (len(want)+limit-1)/limit {
				t.Errorf("limit %d: %v in %d pages, want %v", limit, got, pages, want)
			}
		}
		w.expect(w.watch(WatchQuery{State: true, Filter: third, Name: "03"}), "ADDED a/03 l=l rv=5")
	})
}

// BenchmarkFilteredDelivery delivers one event to 1,000 watchers with one filter: an evaluation, and a lookup for each.
func BenchmarkFilteredDelivery(b *testing.B) {
	dialect := filter.Objects()
	f, err := dialect.Compile(`object.spec.value == "1"`)
	if err != nil {
		b.Fatal(err)
	}
	o := newObject("a/x", 7)
	o.JSON = thing("a/x", "l", "1")
	q := &WatchQuery{Filter: f}
	b.ReportAllocs()
	for b.Loop() {
		e := newEvent(7, o, nil)
		for range 1000 {
			if _, ok, err := e.changeFor(q, New(Config{Prefix: root})); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	}
	b.ReportMetric(float64(dialect.Evaluated())/float64(b.N), "evaluations/op")
}
