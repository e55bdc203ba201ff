package watchcache

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// lateness is a generated run of a slow watcher with Latest.
type lateness struct {
	logLimit int
	padding  int // of each object, in bytes
	writes   []map[string]string
	reads    []int // number of writes before each read
}

var drawLateness = rapid.Custom(func(t *rapid.T) lateness {
	l := lateness{logLimit: rapid.SampledFrom([]int{64, maxEvents}).Draw(t, "log"), padding: rapid.SampledFrom([]int{0, 2000}).Draw(t, "padding")}
	l.writes = rapid.SliceOfN(rapid.MapOfN(drawPath, rapid.SampledFrom([]string{"", "1", "2"}), 1, 3), 1, 20).Draw(t, "writes")
	l.reads = rapid.SliceOfN(rapid.IntRange(1, 900), 1, 3).Draw(t, "reads")
	return l
})

// TestLatest checks that after each batch the client has the newest state of each object, in the order of revisions, and that every change
// is delivered or counted in Skipped.
func TestLatest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawLateness.Draw(rt, "plan")
		problem := ""
		synctest.Test(t, func(t *testing.T) { problem = l.run(t) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

func (l lateness) run(t *testing.T) string {
	t.Helper()
	w := newWorld(t, func(s *memory.Store) { s.Txn(map[string][]byte{root + "a/x": thing("a/x", "0", "")}, nil) })
	w.cache.mu.Lock()
	w.cache.log.limit = l.logLimit
	w.cache.log.reset(w.cache.through)
	w.cache.mu.Unlock()
	watcher := w.watch(WatchQuery{After: 2, Latest: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	truth, known := map[string]string{"a/x": "0"}, map[string]string{"a/x": "0"}
	changes, published, through, n := 0, 0, etcdstore.Revision(2), 0
	for _, writes := range l.reads {
		before := changes
		for range writes {
			changes += l.write(w.store, truth, n)
			n++
		}
		synctest.Wait()
		newest, err := w.store.Revision(ctx)
		if err != nil {
			return err.Error()
		}
		for through < newest {
			batch, err := watcher.Next(ctx)
			if err != nil {
				return err.Error()
			}
			if batch.Through <= through {
				return fmt.Sprintf("a batch up to %d after one up to %d", batch.Through, through)
			}
			last := through
			for _, c := range batch.Changes {
				if c.Revision < last || c.Revision <= through || c.Revision > batch.Through {
					return fmt.Sprintf("revision %d after %d, in a batch from %d to %d", c.Revision, last, through, batch.Through)
				}
				last = c.Revision
				if s := see(c); s.Type == "DELETED" {
					delete(known, s.Path)
				} else {
					known[s.Path] = s.Label
				}
				published += 1 + c.Skipped
				if before > 0 && changes-before <= batchEvents && l.padding == 0 && l.logLimit == maxEvents && c.Skipped > 0 {
					return fmt.Sprintf("%d changes are skipped of %d", c.Skipped, changes-before)
				}
			}
			through = batch.Through
		}
		if diff := cmp.Diff(truth, known); diff != "" {
			return "after " + fmt.Sprint(newest) + ": " + diff
		}
		if published != changes {
			return fmt.Sprintf("%d changes are delivered or counted, there were %d", published, changes)
		}
	}
	return ""
}

// write writes the n-th revision, and returns the number of its changes.
func (l lateness) write(s *memory.Store, truth map[string]string, n int) (changes int) {
	puts, deletes := map[string][]byte{}, []string{}
	for path, label := range l.writes[n%len(l.writes)] {
		_, there := truth[path]
		switch {
		case label != "":
			puts[root+path] = thing(path, label, strings.Repeat("x", l.padding))
			truth[path] = label
			changes++
		case there:
			deletes = append(deletes, root+path)
			delete(truth, path)
			changes++
		}
	}
	s.Txn(puts, deletes)
	return changes
}

// TestLatestMerges checks that only the newest states of a burst larger than a batch are delivered, with the client's previous state, from
// the log and from history.
func TestLatestMerges(t *testing.T) {
	for _, limit := range []int{64, maxEvents} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.cache.mu.Lock()
			w.cache.log.limit = limit
			w.cache.log.reset(w.cache.through)
			w.cache.mu.Unlock()
			first := w.put("a/x", "1", "first")
			watcher := w.watch(WatchQuery{After: first, Latest: true})
			if _, err := watcher.Poll(); err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				w.store.Txn(map[string][]byte{root + "a/x": thing("a/x", "1", fmt.Sprint(i)), root + "a/" + fmt.Sprint(i%2): thing("a/"+fmt.Sprint(i%2), "1", "")}, nil)
			}
			w.remove("a/0")
			synctest.Wait()
			got := map[string]int{}
			for newest := first + 1001; watcher.Through() < newest; {
				batch, err := watcher.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range batch.Changes {
					got[see(c).String()] = c.Skipped
					if c.Object.path == "a/x" && limit == maxEvents && (c.Previous == nil || c.Previous.Revision != first) {
						t.Errorf("the state before is %+v, want the first one", c.Previous)
					}
				}
			}
			want := map[string]int{"MODIFIED a/x l=1 rv=1002": 999, "ADDED a/1 l=1 rv=1002": 499, "DELETED a/0 l=1 rv=1003": 500}
			if limit == 64 { // history may end before the log, and then a few more events follow
				if len(got) > 4*len(want) {
					t.Errorf("too many events: %v", got)
				}
			} else if diff := cmp.Diff(want, maps.Clone(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
