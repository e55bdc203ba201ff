package watchcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/snapshots"
)

func (w *world) list(q ListQuery) *List {
	w.t.Helper()
	list, err := w.cache.List(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("list %+v: %v", q, err)
	}
	return list
}

func labelled(list *List) []string {
	out := []string{}
	for o := range list.Objects {
		out = append(out, o.Path()+"="+o.Labels().Get("l"))
	}
	return out
}

func (w *world) expectList(q ListQuery, want ...string) *List {
	w.t.Helper()
	list := w.list(q)
	if diff := cmp.Diff(append([]string{}, want...), labelled(list)); diff != "" {
		w.t.Errorf("list %+v (- want, + got):\n%s", q, diff)
	}
	return list
}

func TestListScopesAndOrder(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for _, path := range []string{"b/x", "a/y", "a/x", "ab/x"} {
			w.put(path, "1", "")
		}
		w.put("a/y", "2", "")
		w.expectList(ListQuery{}, "a/x=1", "a/y=2", "ab/x=1", "b/x=1")
		w.expectList(ListQuery{Namespace: "a"}, "a/x=1", "a/y=2")
		w.expectList(ListQuery{Namespace: "a", Name: "x"}, "a/x=1")
		w.expectList(ListQuery{Name: "x"}, "a/x=1", "ab/x=1", "b/x=1")
		w.expectList(ListQuery{Selector: parse(w.t, "l=2", "")}, "a/y=2")
		w.expectList(ListQuery{Namespace: "none"})
	})
}

// TestSearchAndCallerShareATurn checks that the caller of a list can work in its turn while the selector searches on, and gives it to other users
// when it waits.
func TestSearchAndCallerShareATurn(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 20 {
			w.put(fmt.Sprintf("a/%02d", i), "1", "")
		}
		scheduler := cputime.New(1)
		account, other := scheduler.Account("lister"), scheduler.Account("other")
		list := w.list(ListQuery{Selector: parse(w.t, "l=1", ""), Account: account})
		seen := 0
		for range list.Objects {
			if err := list.Turn.Continue(); err != nil { // waits until the bubble ends if the search has another turn
				w.t.Fatal(err)
			}
			if seen++; seen%2 == 0 {
				list.Turn.End()
				turn := other.Turn()
				if err := turn.Continue(); err != nil {
					w.t.Fatal(err)
				}
				turn.End()
			}
		}
		turn := other.Turn()
		if err := turn.Continue(); err != nil || seen != 20 {
			w.t.Errorf("%d objects, and then %v; want 20, and a turn for another user", seen, err)
		}
		turn.End()
	})
}

func TestListWaitsForWritesElsewhere(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "1", "")
		newest := w.store.Txn(map[string][]byte{"/registry/others/y": []byte("{}")}, nil)
		if list := w.expectList(ListQuery{AtLeast: newest}, "a/x=1"); list.Revision != newest {
			t.Errorf("the list has revision %d, the store is at %d", list.Revision, newest)
		}
	})
}

func TestListOfAFutureRevisionTimesOut(t *testing.T) {
	bubble(t, nil, func(w *world) {
		newest := w.put("a/x", "", "")
		for _, q := range []ListQuery{{AtLeast: newest + 10}, {At: newest + 10}} {
			began := time.Now()
			_, err := w.cache.List(w.t.Context(), q)
			var late *TooLargeError
			if !errors.As(err, &late) || late.Current != newest || time.Since(began) != blockTimeout {
				t.Errorf("list %+v: %v after %v", q, err, time.Since(began))
			}
		}
	})
}

func TestListPagesShowOneRevision(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 5 {
			w.put(fmt.Sprintf("a/%d", i), "1", "")
		}
		first := w.expectList(ListQuery{Limit: 2}, "a/0=1", "a/1=1")
		if first.Continue != "a/1" || first.Remaining == nil || *first.Remaining != 3 {
			t.Errorf("the first page continues after %q, %v remain", first.Continue, first.Remaining)
		}
		w.put("a/2", "2", "")
		w.put("a/25", "2", "")
		w.remove("a/3")
		second := w.expectList(ListQuery{At: first.Revision, After: first.Continue, Limit: 2}, "a/2=1", "a/3=1")
		if second.Revision != first.Revision || *second.Remaining != 1 {
			t.Errorf("the second page has revision %d (the first %d), %d remain", second.Revision, first.Revision, *second.Remaining)
		}
		last := w.expectList(ListQuery{At: first.Revision, After: second.Continue, Limit: 2}, "a/4=1")
		if last.Continue != "" || last.Remaining != nil {
			t.Errorf("the last page continues after %q, %v remain", last.Continue, last.Remaining)
		}
		w.expectList(ListQuery{At: first.Revision, After: first.Continue}, "a/2=1", "a/3=1", "a/4=1")
	})
}

func TestListPagesWithSelectorAreFull(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 10 {
			w.put(fmt.Sprintf("a/%d", i), fmt.Sprint(i%2), "")
		}
		page := w.expectList(ListQuery{Limit: 3, Selector: parse(w.t, "l=1", "")}, "a/1=1", "a/3=1", "a/5=1")
		if page.Continue != "a/5" || page.Remaining != nil {
			t.Errorf("the page continues after %q, %v remain", page.Continue, page.Remaining)
		}
		rest := w.expectList(ListQuery{At: page.Revision, After: page.Continue, Limit: 3, Selector: parse(w.t, "l=1", "")}, "a/7=1", "a/9=1")
		if rest.Continue != "" {
			t.Errorf("the rest continues after %q", rest.Continue)
		}
	})
}

// The state at a revision is the same from memory and from etcd, and an error when etcd has compacted it.
func TestListAtARevision(t *testing.T) {
	var first etcdstore.Revision
	prepare := func(s *memory.Store) {
		first = s.Txn(map[string][]byte{root + "a/x": thing("a/x", "1", "")}, nil)
		s.Txn(map[string][]byte{root + "a/x": thing("a/x", "2", "")}, nil)
	}
	bubble(t, prepare, func(w *world) {
		w.expectList(ListQuery{At: first}, "a/x=1")
		third := w.put("a/x", "3", "")
		w.remove("a/x")
		if list := w.expectList(ListQuery{At: third}, "a/x=3"); list.Revision != third {
			t.Errorf("the list at %d has revision %d", third, list.Revision)
		}
		w.expectList(ListQuery{At: first}, "a/x=1")
		w.compact(third)
		synctest.Wait()
		_, err := w.cache.List(w.t.Context(), ListQuery{At: first})
		var compacted *etcdstore.CompactedError
		if !errors.As(err, &compacted) {
			t.Errorf("a compacted revision gets %v, although it has a snapshot", err)
		}
		w.expectList(ListQuery{At: third}, "a/x=3")
	})
}

// TestPastSnapshotIsLoadedOnce checks that concurrent lists of the same past state read etcd once, and share one state in memory.
func TestPastSnapshotIsLoadedOnce(t *testing.T) {
	var first etcdstore.Revision
	prepare := func(s *memory.Store) {
		first = s.Txn(map[string][]byte{root + "a/x": thing("a/x", "1", "")}, nil)
		s.Txn(map[string][]byte{root + "a/x": thing("a/x", "2", "")}, nil)
	}
	bubble(t, prepare, func(w *world) {
		w.cache.loading <- struct{}{} // another state is being read
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() { w.expectList(ListQuery{At: first}, "a/x=1") })
		}
		hurried, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if _, err := w.cache.List(hurried, ListQuery{At: first}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller with an ended context gets %v", err)
		}
		<-w.cache.loading
		asking.Wait()
		if loads := w.cache.Stats().SnapshotLoads; loads != 1 {
			t.Errorf("the state was read %d times, want once", loads)
		}
	})
}

// A state of which a page was served is kept for the next page, and not for a client that does not come back. After that its pages are the same, from etcd.
// An internal list keeps none.
func TestSnapshotsExpire(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for _, path := range []string{"a/x", "a/y", "a/z"} {
			w.put(path, "1", "")
		}
		page := w.expectList(ListQuery{Limit: 1}, "a/x=1")
		w.put("a/y", "2", "")
		w.expectList(ListQuery{Limit: 1, Own: true}, "a/x=1")
		other := w.expectList(ListQuery{Limit: 2}, "a/x=1", "a/y=2")
		w.put("a/y", "3", "")
		next := func() {
			t.Helper()
			w.expectList(ListQuery{At: page.Revision, After: page.Continue, Limit: 1}, "a/y=1")
		}
		for range 3 {
			<-time.After(snapshots.KeepTime - time.Second)
			next()
		}
		if s := w.cache.Stats(); s.Snapshots != 1 || s.SnapshotLoads != 0 {
			t.Errorf("beside pages of one of two states %d states are kept, and %d were read from etcd", s.Snapshots, s.SnapshotLoads)
		}
		w.expectList(ListQuery{At: other.Revision, After: other.Continue}, "a/z=1")
		<-time.After(snapshots.KeepTime + time.Second)
		if s := w.cache.Stats(); s.Snapshots != 0 || s.SnapshotLoads != 1 {
			t.Errorf("after the last page %d states are kept, and %d were read from etcd", s.Snapshots, s.SnapshotLoads)
		}
		next()
		if s := w.cache.Stats(); s.Snapshots != 1 || s.SnapshotLoads != 2 {
			t.Errorf("%d states are kept, and %d were read from etcd", s.Snapshots, s.SnapshotLoads)
		}
	})
}

// States that are read from etcd take memory of their own: only as many are kept as there is room for, and one in any case.
func TestLoadedSnapshotsAreBounded(t *testing.T) {
	for name, test := range map[string]struct{ room, kept, loads int }{"room for all": {snapshots.MaxBytes, 3, 3}, "for two": {2, 2, 4}, "for none": {0, 1, 6}} {
		t.Run(name, func(t *testing.T) {
			var revisions []etcdstore.Revision
			prepare := func(s *memory.Store) {
				for i := range 4 {
					revisions = append(revisions, s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), "")}, nil))
				}
			}
			bubble(t, prepare, func(w *world) {
				if test.room < snapshots.MaxBytes {
					w.cache.held.MaxBytes = test.room * w.cache.Stats().Bytes
				}
				for _, i := range []int{0, 1, 2, 2, 1, 2, 0} { // 2 and 1 are the newest two
					w.expectList(ListQuery{At: revisions[i]}, fmt.Sprintf("a/x=%d", i))
				}
				if s := w.cache.Stats(); s.Snapshots != test.kept || s.SnapshotLoads != test.loads {
					t.Errorf("%d states are kept, and %d were read from etcd, want %d and %d", s.Snapshots, s.SnapshotLoads, test.kept, test.loads)
				}
			})
		})
	}
}

// A state that was dropped while a client had it counts as one that was read from etcd when it is kept for the client's next page.
func TestDroppedSnapshotIsKeptAgain(t *testing.T) {
	var revisions []etcdstore.Revision
	prepare := func(s *memory.Store) {
		for i := range 3 {
			revisions = append(revisions, s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), ""), root + "a/y": thing("a/y", "", "")}, nil))
		}
	}
	bubble(t, prepare, func(w *world) {
		w.cache.held.MaxBytes = 0 // so one is kept
		first, err := w.cache.snapshotAt(w.t.Context(), revisions[0])
		if err != nil {
			t.Fatal(err)
		}
		w.expectList(ListQuery{At: revisions[1], Limit: 1}, "a/x=1")
		if _, err := w.cache.list(w.t.Context(), first, ListQuery{Limit: 1}); err != nil {
			t.Fatal(err)
		}
		w.expectList(ListQuery{At: revisions[0], Limit: 1}, "a/x=0")
		if s := w.cache.Stats(); s.Snapshots != 1 || s.SnapshotLoads != 2 {
			t.Errorf("%d states are kept, and %d were read from etcd, want 1 and 2", s.Snapshots, s.SnapshotLoads)
		}
	})
}

func TestListNamesUndecodableObjects(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "1", "")
		for i := range maxInvalid + 2 {
			w.write(fmt.Sprintf("b/%d", i), []byte("?"))
		}
		list := w.expectList(ListQuery{}, "a/x=1")
		if list.InvalidCount != maxInvalid+2 || len(list.Invalid) != maxInvalid || list.Invalid[0].Path() != "b/0" {
			t.Errorf("%d objects are undecodable, the named ones are %v", list.InvalidCount, list.Invalid)
		}
		if list := w.list(ListQuery{Namespace: "a"}); list.InvalidCount != 0 {
			t.Error("the list of one namespace names values of another one")
		}
	})
}

func TestGet(t *testing.T) {
	bubble(t, nil, func(w *world) {
		newest := w.put("a/x", "1", "")
		if o, err := w.cache.Get(w.t.Context(), "a/x", newest); err != nil || o.Labels().Get("l") != "1" {
			t.Errorf("got %+v, %v", o, err)
		}
		if o, err := w.cache.Get(w.t.Context(), "a/y", 0); err != nil || o != nil {
			t.Errorf("got %+v, %v", o, err)
		}
	})
}
