package garbage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
)

// family puts a parent with n children.
func (w *world) family(name string, n int) {
	w.t.Helper()
	w.put("Parent/a/" + name)
	for i := range n {
		w.put(fmt.Sprintf("Child/a/%s-%04d", name, i), "Parent/"+name)
	}
}

// request deletes an object and records the deletion, as a DELETE request does.
func (w *world) request(path, uid string) {
	w.t.Helper()
	record, err := NewRequests(w.store, "revtail/deleted/r/").Record("parents", "a", path, uid)
	if err == nil {
		_, err = w.store.Transact(w.t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Delete, Key: "/r/" + path}, record}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// newLimitedWorld has collectors with the default limit, and families: numbers of children by the name of their parent.
func newLimitedWorld(t *testing.T, families map[string]int) *world {
	t.Helper()
	w := newWorld(t)
	w.limit = 0
	for name, n := range families {
		w.family(name, n)
	}
	return w
}

// expectChildren checks after a minute how many children are left.
func (w *world) expectChildren(want int, why string) {
	w.t.Helper()
	after(time.Minute)
	if got := w.children(); got != want {
		w.t.Errorf("%d are left, want %d: %s", got, want, why)
	}
}

func (w *world) children() int {
	n := 0
	for _, path := range w.left() {
		if strings.HasPrefix(path, "Child/") {
			n++
		}
	}
	return n
}

// TestLimit checks how many children are left after their parent is deleted.
func TestLimit(t *testing.T) {
	for name, test := range map[string]struct {
		orphans, others, limit int
		left                   int // number of orphans
		stopped                bool
	}{
		"five of five":                 {orphans: 5, left: 0},
		"six of six":                   {orphans: 6, left: 6, stopped: true},
		"a tenth":                      {orphans: 20, others: 180, left: 0},
		"more than a tenth":            {orphans: 21, others: 180, left: 21, stopped: true},
		"a hundred of many":            {orphans: 100, others: 1000, left: 0},
		"more than a hundred of many":  {orphans: 101, others: 1000, left: 101, stopped: true},
		"an operator allows more":      {orphans: 150, limit: 150, left: 0},
		"more than an operator allows": {orphans: 151, others: 2000, limit: 150, left: 151, stopped: true},
		"an operator allows less":      {orphans: 3, others: 100, limit: 2, left: 3, stopped: true},
	} {
		for _, when := range []string{"while it runs", "before it starts"} {
			t.Run(name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.limit = test.limit
					w.family("gone", test.orphans)
					w.family("stays", test.others)
					if when == "before it starts" {
						w.remove("Parent/a/gone")
					}
					resources := w.resources(w.store)
					c := w.collector(resources)
					c.Serve(resources)
					stop := w.run(c)
					defer stop()
					synctest.Wait()
					if when == "while it runs" {
						w.remove("Parent/a/gone")
					}
					after(5 * time.Minute)
					if got := w.children() - test.others; got != test.left {
						t.Errorf("%d are left, want %d", got, test.left)
					}
					if got := c.Stopped(); (got != nil) != test.stopped {
						t.Errorf("stopped: %v", got)
					} else if got != nil && !strings.Contains(got.String(), "Child") && !strings.Contains(got.String(), "childs") {
						t.Errorf("the message names no example: %v", got)
					}
				})
			})
		}
	}
}

// TestLimitCountsAnHour checks that the limit counts all deletions of the last hour, and no earlier ones.
func TestLimitCountsAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLimitedWorld(t, map[string]int{"p0": 4, "p1": 4, "p2": 4, "p3": 4})
		defer w.start()()
		synctest.Wait()
		w.remove("Parent/a/p0")
		after(time.Minute)
		w.remove("Parent/a/p1")
		w.expectChildren(12, "more than five of sixteen are not collected in an hour")
		w.remove("Parent/a/p2")
		after(2 * time.Hour)
		w.expectChildren(12, "eight wait for an operator")
	})
}

// TestRequestedDeletionIsNotLimited checks that the children of an object that a request deleted are collected, also when the limit has
// stopped the collector.
func TestRequestedDeletionIsNotLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLimitedWorld(t, map[string]int{"lost": 50, "asked": 150})
		w.remove("Parent/a/lost")
		w.request("Parent/a/asked", "asked")
		defer w.start()()
		w.expectChildren(50, "no request deleted their parent")
	})
}

// TestStopEnds checks that a stopped collector continues when an operator has deleted the orphans or restored their owner.
func TestStopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLimitedWorld(t, map[string]int{"lost": 50, "small": 2, "stays": 200})
		resources := w.resources(w.store)
		c := w.collector(resources)
		c.Serve(resources)
		defer w.run(c)()
		synctest.Wait()
		w.remove("Parent/a/lost")
		after(time.Minute)
		w.remove("Parent/a/small")
		after(time.Minute)
		if c.Stopped() == nil || w.children() != 252 {
			t.Fatalf("stopped: %v, %d are left", c.Stopped(), w.children())
		}
		w.put("Parent/a/lost")
		after(time.Minute)
		if c.Stopped() != nil || w.children() != 250 {
			t.Errorf("stopped: %v, %d are left, want 250", c.Stopped(), w.children())
		}
	})
}

// TestOwnerElsewhere checks that an owner counts which another program stores under another key.
func TestOwnerElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("Child/a/c", "Parent/p")
		w.put("Child/a/d", "Parent/q")
		if _, err := w.store.Create(t.Context(), "/elsewhere/r/Parent/a/p", []byte("k8s\x00")); err != nil {
			t.Fatal(err)
		}
		defer w.start()()
		after(time.Minute)
		w.expect("Child/a/c")
	})
}

// TestNothingWithoutPermit checks that a collector without a permit neither leads nor deletes.
func TestNothingWithoutPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.permit = func(context.Context) error { return errors.New("no permit") }
		w.put("Child/a/c", "Parent/p")
		w.put("Namespace/n")
		w.terminate("n", "")
		before, err := w.store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer w.start()()
		after(time.Minute)
		now, err := w.store.Revision(t.Context())
		if err != nil || now != before {
			t.Errorf("revision %d, want %d: %v", now, before, err)
		}
	})
}

// TestOldRequestsAreRemoved checks that the leader removes the records of requests after an hour.
func TestOldRequestsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("asked", 1)
		w.request("Parent/a/asked", "asked")
		requests := NewRequests(w.store, "revtail/deleted/r/")
		after(keepRequests - time.Minute)
		if err := requests.prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asked, err := requests.include(t.Context(), []owner{{uid: "asked"}}); !asked || err != nil {
			t.Errorf("the record is removed too early: %v", err)
		}
		after(2 * time.Minute)
		defer w.start()()
		w.put("Child/a/more", "Parent/absent")
		after(time.Minute)
		fresh := NewRequests(w.store, "revtail/deleted/r/")
		if asked, err := fresh.include(t.Context(), []owner{{uid: "asked"}}); asked || err != nil {
			t.Errorf("the record still exists: %v", err)
		}
	})
}
