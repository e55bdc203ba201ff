package watchcache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
)

// limitedCrew polls within a limit as a loop does, and without one where that is too little.
type limitedCrew struct {
	*crew
	limit   WorkLimit
	refused int
}

func (c *limitedCrew) poll(watcher *Watcher) {
	for {
		before := c.limit.Left
		batch, _, err := c.reader.Poll(watcher)
		if c.limit.Left < 0 || c.limit.Taken > c.limit.Each || before-c.limit.Left != c.limit.Taken {
			c.w.t.Errorf("the limit was %v, and is %+v", before, c.limit)
		}
		c.limit.Taken = 0
		if errors.Is(err, ErrTooMuchWork) {
			c.refused++
			var unlimited Reader
			batch, _, err = unlimited.Poll(watcher)
		}
		if err != nil {
			c.w.t.Fatal(err)
		}
		name := Owners(nil, []*Watcher{watcher})[0].(string)
		for _, change := range batch.Changes {
			c.got[name] = append(c.got[name], fmt.Sprint(change.Type, " ", change.Object.Path(), " ", change.Revision))
		}
		if len(batch.Changes) == 0 {
			return
		}
	}
}

// TestWorkLimitLosesNothing checks that watchers get the same within any limit, and that a limit refuses the work that exceeds it.
func TestWorkLimitLosesNothing(t *testing.T) {
	var want map[string][]string
	for _, limit := range []time.Duration{time.Hour, 100 * time.Microsecond, 2 * time.Microsecond, 0} {
		bubble(t, nil, func(w *world) {
			start := w.put("a/x", "one", "")
			c := &limitedCrew{crew: newCrew(w), limit: WorkLimit{Each: limit, Left: 3 * limit}}
			c.reader.Limit(&c.limit)
			attach := func(name string, q WatchQuery) {
				q.After = start
				watcher := w.watch(q)
				watcher.Begin(t.Context())
				watcher.Attach(c.ready, name)
				c.poll(watcher)
			}
			attach("everything", WatchQuery{})
			attach("again", WatchQuery{})
			attach("label", WatchQuery{Selector: parse(t, "l=one", "")})
			attach("field", WatchQuery{Selector: parse(t, "", "spec.value!=2")})
			attach("states", WatchQuery{Filter: compile(t, `object.metadata.labels.l == "one"`)})
			attach("events", WatchQuery{Filter: compile(t, `type == "DELETED"`)})
			attach("newest", WatchQuery{Latest: true, Filter: compile(t, `object.spec.value != "1"`)})
			attach("tables", WatchQuery{Passes: 10})
			attach("more tables", WatchQuery{Passes: 10})
			for i := range etcdstore.Revision(400) {
				w.put(fmt.Sprintf("a/%d", i%7), []string{"one", "two"}[i%2], fmt.Sprint(i%3))
				if i%50 == 0 {
					w.remove(fmt.Sprintf("a/%d", i%7))
				}
				if i%13 == 0 {
					for _, together := range c.ready.Take() {
						for _, watcher := range together {
							c.poll(watcher)
						}
					}
					c.limit.Left = 3 * limit
				}
			}
			for _, together := range c.ready.Take() {
				for _, watcher := range together {
					c.poll(watcher)
				}
			}
			if want == nil {
				want = c.got
			}
			if diff := cmp.Diff(want, c.got); diff != "" {
				t.Errorf("within %v (- want, + got):\n%s", limit, diff)
			}
			if limit == 0 && c.refused == 0 {
				t.Error("no work exceeds a limit of zero")
			}
			t.Logf("within %v: %d times too much", limit, c.refused)
		})
	}
}
