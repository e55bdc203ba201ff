package watchcache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/selector"
)

// state is a client's view of the objects: by path, the label and the revision.
type state map[string]struct {
	label    string
	revision etcdstore.Revision
	broken   bool
}

// oracle is the expected state as of each revision, from 1 on.
type oracle []state

func (h oracle) at(revision etcdstore.Revision) state { return h[revision-1] }

func (h oracle) newest() etcdstore.Revision { return etcdstore.Revision(len(h)) }

// write appends a revision in which the paths change; an empty label deletes, "?" is an undecodable value.
func (h *oracle) write(labels map[string]string) {
	next := state{}
	if len(*h) > 0 {
		next = maps.Clone(h.at(h.newest()))
	}
	revision := h.newest() + 1
	for path, label := range labels {
		if label == "" {
			delete(next, path)
			continue
		}
		entry := next[path]
		entry.label, entry.revision, entry.broken = label, revision, label == "?"
		next[path] = entry
	}
	*h = append(*h, next)
}

// slice is the selection of a watcher.
type slice struct {
	namespace, name string
	label           string // empty: any
	by              means
}

// means is the method by which a watcher selects the label.
type means string

const (
	bySelector means = "a selector"
	byStates   means = "a filter of states"
	byEvents   means = "a filter of events" // except modifications
)

func (f slice) matches(s state, path string) bool {
	namespace, name, _ := strings.Cut(path, "/")
	entry, ok := s[path]
	return ok && !entry.broken && (f.namespace == "" || f.namespace == namespace) && (f.name == "" || f.name == name) &&
		(f.label == "" || f.by == byEvents || f.label == entry.label)
}

// passes reports whether the naive filter of events shows an event.
func (f slice) passes(eventType, label string) bool {
	return f.by != byEvents || eventType != "MODIFIED" && (f.label == "" || f.label == label)
}

// things are the filters of the tests, where equal texts are one filter, as in a gateway.
var things = struct {
	*filter.Dialect
	known map[string]*filter.Filter
}{filter.Objects(), map[string]*filter.Filter{}}

func compile(t *testing.T, text string) *filter.Filter {
	t.Helper()
	if things.known[text] == nil {
		f, err := things.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		things.known[text] = f
	}
	return things.known[text]
}

// query makes the selector and the filter of a slice.
func (f slice) query(t *testing.T) (*selector.Selector, *filter.Filter) {
	t.Helper()
	switch {
	case f.by == byEvents:
		return nil, compile(t, fmt.Sprintf(`type != "MODIFIED" && (%q == "" || object.metadata.labels.l == %q)`, f.label, f.label))
	case f.label == "":
		return nil, nil
	case f.by == byStates:
		return nil, compile(t, fmt.Sprintf("object.metadata.labels.l == %q", f.label))
	}
	return parse(t, "l="+f.label, ""), nil
}

// list is the expected list of a state.
func (f slice) list(s state) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(s)) {
		if f.matches(s, path) && f.passes("ADDED", s[path].label) {
			out = append(out, seen{"ADDED", path, s[path].label, fmt.Sprint(s[path].revision)}.String())
		}
	}
	return out
}

// events are the expected events of the revisions in (after, through].
func (h oracle) events(f slice, after, through etcdstore.Revision) []string {
	var out []string
	for revision := after + 1; revision <= through; revision++ {
		before, now := h.at(revision-1), h.at(revision)
		var step []string
		for _, path := range slices.Sorted(maps.Keys(union(before, now))) {
			if before[path] == now[path] {
				continue
			}
			prevMatches, curMatches := f.matches(before, path), f.matches(now, path)
			switch {
			case prevMatches && curMatches && f.passes("MODIFIED", now[path].label):
				step = append(step, seen{"MODIFIED", path, now[path].label, fmt.Sprint(revision)}.String())
			case !prevMatches && curMatches && f.passes("ADDED", now[path].label):
				step = append(step, seen{"ADDED", path, now[path].label, fmt.Sprint(revision)}.String())
			case prevMatches && !curMatches && f.passes("DELETED", before[path].label):
				step = append(step, seen{"DELETED", path, before[path].label, fmt.Sprint(revision)}.String())
			}
		}
		out = append(out, step...)
	}
	return out
}

func union(a, b state) state {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// plan is a generated run: writes in order, and watchers that begin after some of them.
type plan struct {
	before   int // number of writes before the start of the cache
	writes   []map[string]string
	watchers []plannedWatcher
	logLimit int
	trims    int // number of writes before the log drops what is published; zero: it does not
	gap      time.Duration
}

type plannedWatcher struct {
	slice slice
	begin int // number of writes before it is opened
	after int // revision after which it begins; zero: with the state
	reads int // number of writes before its next read
}

var (
	drawPath  = rapid.SampledFrom([]string{"a/x", "a/xy", "a/z", "ab/x", "b/x"})
	drawLabel = rapid.SampledFrom([]string{"", "1", "2", "?"})
	drawSlice = rapid.Custom(func(t *rapid.T) slice {
		return slice{
			namespace: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace"),
			name:      rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "name"),
			label:     rapid.SampledFrom([]string{"", "", "1"}).Draw(t, "label"),
			by:        rapid.SampledFrom([]means{bySelector, byStates, byEvents}).Draw(t, "by"),
		}
	})
	drawPlan = rapid.Custom(func(t *rapid.T) plan {
		p := plan{
			logLimit: rapid.SampledFrom([]int{2, 8, 64}).Draw(t, "log"),
			trims:    rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "trims"),
			gap:      rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "gap"),
		}
		p.writes = rapid.SliceOfN(rapid.MapOfN(drawPath, drawLabel, 1, 3), 1, 30).Draw(t, "writes")
		p.before = rapid.IntRange(0, len(p.writes)).Draw(t, "before")
		p.watchers = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plannedWatcher {
			begin := rapid.IntRange(p.before, len(p.writes)).Draw(t, "begin")
			return plannedWatcher{
				slice: drawSlice.Draw(t, "slice"),
				begin: begin,
				after: rapid.IntRange(0, begin+1).Draw(t, "after"),
				reads: rapid.IntRange(1, 10).Draw(t, "reads"),
			}
		}), 1, 5).Draw(t, "watchers")
		return p
	})
)

// TestEveryWatcherGetsItsSlice compares the events of watchers of all kinds with the oracle: exactly the events of their slice, in order,
// whatever the log has and however rarely they read.
func TestEveryWatcherGetsItsSlice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan.Draw(rt, "plan")
		var problems []string
		synctest.Test(t, func(t *testing.T) { problems = p.run(t) })
		if len(problems) > 0 {
			rt.Fatalf("%s", strings.Join(problems, "\n"))
		}
	})
}

// follower is a watcher of a run, with its events.
type follower struct {
	planned plannedWatcher
	watcher *Watcher
	started etcdstore.Revision // the newest revision when it was opened
	got     []string
	through etcdstore.Revision
}

func (p plan) run(t *testing.T) (problems []string) {
	t.Helper()
	h := oracle{{}} // revision 1: nothing
	write := func(s *memory.Store, labels map[string]string) {
		puts, deletes := map[string][]byte{}, []string{}
		for path, label := range labels {
			switch label {
			case "":
				deletes = append(deletes, root+path)
			case "?":
				puts[root+path] = []byte("?")
			default:
				puts[root+path] = thing(path, label, "")
			}
		}
		if revision := s.Txn(puts, deletes); revision > h.newest() {
			h.write(labels)
		}
	}
	w := newWorld(t, func(s *memory.Store) {
		for _, labels := range p.writes[:p.before] {
			write(s, labels)
		}
	})
	w.cache.mu.Lock()
	w.cache.log.limit, w.cache.config.Gap = p.logLimit, p.gap
	w.cache.log.reset(w.cache.through)
	w.cache.mu.Unlock()

	followers := make([]*follower, len(p.watchers))
	for i := p.before; i <= len(p.writes); i++ {
		for n, planned := range p.watchers {
			if planned.begin == i {
				followers[n] = p.open(w, planned, h.newest())
			}
			if f := followers[n]; f != nil && (i%planned.reads == 0 || i == len(p.writes)) {
				f.read(w)
			}
		}
		if i < len(p.writes) {
			write(w.store, p.writes[i])
			synctest.Wait()
		}
		if p.trims > 0 && i%p.trims == 0 {
			w.cache.dropPublished()
		}
	}
	for _, f := range followers {
		problems = append(problems, f.check(h)...)
	}
	return problems
}

// dropPublished is trimLog for events of any size and age.
func (c *Cache) dropPublished() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.log.first < c.notifier.first {
		c.log.drop()
	}
	c.log.trim(c.notifier.first)
}

func (p plan) open(w *world, planned plannedWatcher, newest etcdstore.Revision) *follower {
	f := &follower{planned: planned, started: newest}
	if planned.after > int(newest) {
		f.planned.after = int(newest)
	}
	q := WatchQuery{Namespace: planned.slice.namespace, Name: planned.slice.name, After: etcdstore.Revision(f.planned.after), State: planned.after == 0}
	q.Selector, q.Filter = planned.slice.query(w.t)
	f.watcher = w.watch(q)
	if q.State { // the state is read now, and the rest at any time
		f.read(w)
	}
	return f
}

func (f *follower) read(w *world) {
	changes, through, err := w.drain(f.watcher)
	for _, c := range changes {
		f.got = append(f.got, c.String())
	}
	if f.through = through; err != nil {
		f.got = append(f.got, "ERROR "+err.Error())
	}
}

func (f *follower) check(h oracle) (problems []string) {
	if f.through != h.newest() {
		problems = append(problems, fmt.Sprintf("%+v: complete up to %d of %d", f.planned, f.through, h.newest()))
	}
	var want []string
	after := etcdstore.Revision(f.planned.after)
	if after == 0 {
		want, after = f.planned.slice.list(h.at(f.started)), f.started
	}
	if f.planned.after > 1 {
		if same := h.events(f.planned.slice, after-1, after); len(same) > 1 {
			want = append(want, same...) // because a client may have only a part of it, it is sent again
		}
	}
	want = append(want, h.events(f.planned.slice, after, h.newest())...)
	if diff := cmp.Diff(sortRevisions(want), sortRevisions(f.got)); diff != "" {
		problems = append(problems, fmt.Sprintf("%+v (- want, + got):\n%s", f.planned, diff))
	}
	return problems
}

// sortRevisions sorts the events within each revision, which have no order.
func sortRevisions(events []string) []string {
	out := append([]string{}, events...)
	revision := func(e string) string { return e[strings.LastIndex(e, "=")+1:] }
	for i := 0; i < len(out); {
		j := i + 1
		for j < len(out) && revision(out[j]) == revision(out[i]) {
			j++
		}
		slices.Sort(out[i:j])
		i = j
	}
	return out
}
