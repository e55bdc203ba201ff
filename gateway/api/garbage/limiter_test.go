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

// request deletes an object as a DELETE request does: with a record of it.
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

func (w *world) children() int {
	n := 0
	for _, path := range w.left() {
		if strings.HasPrefix(path, "Child/") {
			n++
		}
	}
	return n
}

// TestLimit says how many of how many children are left after their parent has gone.
func TestLimit(t *testing.T) {
	for name, test := range map[string]struct {
		orphans, others, limit int
		left                   int // of the orphans
		stopped                bool
	}{
		"a few of few":                 {orphans: 5, left: 0},
		"more than a few of few":       {orphans: 6, left: 6, stopped: true},
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
						t.Errorf("it does not name an example: %v", got)
					}
				})
			})
		}
	}
}

// TestLimitCountsAnHour: what is collected little by little counts together, and no longer than an hour.
func TestLimitCountsAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limit = 0
		for i := range 4 {
			w.family(fmt.Sprint("p", i), 4)
		}
		defer w.start()()
		synctest.Wait()
		w.remove("Parent/a/p0")
		after(time.Minute)
		w.remove("Parent/a/p1")
		after(time.Minute)
		if got := w.children(); got != 12 {
			t.Errorf("%d are left, want 12: more than five of sixteen are not collected in an hour", got)
		}
		w.remove("Parent/a/p2")
		after(2 * time.Hour)
		if got := w.children(); got != 12 {
			t.Errorf("%d are left, want 12: eight wait for an operator", got)
		}
	})
}

// TestRequestedIsNotLimited: what somebody has asked for is done, whatever stands still, and whichever replica heard of it.
func TestRequestedIsNotLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limit = 0
		w.family("lost", 50)
		w.family("asked", 150)
		w.remove("Parent/a/lost")
		w.request("Parent/a/asked", "asked")
		defer w.start()()
		after(time.Minute)
		if got := w.children(); got != 50 {
			t.Errorf("%d are left, want the 50 that nobody asked for", got)
		}
	})
}

// TestStopEnds: when an operator has deleted what was held back, or restored the owner, the collector goes on.
func TestStopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limit = 0
		w.family("lost", 50)
		w.family("small", 2)
		w.family("stays", 200)
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

// TestOwnerElsewhere: an owner that another program keeps under another key is an owner.
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

// TestNothingWithoutPermit: neither leads nor deletes a collector that is not permitted to.
func TestNothingWithoutPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.permit = func(context.Context) error { return errors.New("not ours") }
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

// TestOldRequestsGo: records are removed when they are an hour old, by who leads.
func TestOldRequestsGo(t *testing.T) {
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
			t.Errorf("it is gone too early: %v", err)
		}
		after(2 * time.Minute)
		defer w.start()()
		w.put("Child/a/more", "Parent/nobody")
		after(time.Minute)
		fresh := NewRequests(w.store, "revtail/deleted/r/")
		if asked, err := fresh.include(t.Context(), []owner{{uid: "asked"}}); asked || err != nil {
			t.Errorf("it is still there: %v", err)
		}
	})
}
