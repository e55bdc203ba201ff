package garbage

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// candidate is a replica that always wants to lead.
type candidate struct {
	store   *mortalStore
	leading atomic.Bool
	stop    func()
}

func newCandidate(t *testing.T, store etcdstore.Store) *candidate {
	t.Helper()
	c := &candidate{store: &mortalStore{Store: store, dead: new(atomic.Bool)}}
	e := &election{permit: func(context.Context) error { return nil }, store: c.store, key: "leader", holder: holderName(), log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			e.lead(ctx, func() bool { return true }, func(leading context.Context) {
				c.leading.Store(true)
				<-leading.Done()
				c.leading.Store(false)
			})
		}
	})
	c.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(c.stop)
	return c
}

func leaders(candidates ...*candidate) (out []int) {
	for i, c := range candidates {
		if c.leading.Load() {
			out = append(out, i)
		}
	}
	return out
}

func TestOnlyOneCandidateLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		candidates := []*candidate{newCandidate(t, store), newCandidate(t, store), newCandidate(t, store)}
		for range 600 {
			after(100 * time.Millisecond)
			if got := leaders(candidates...); len(got) != 1 {
				t.Fatalf("%d replicas lead", len(got))
			}
		}
	})
}

// TestLostLeaderStopsBeforeTheNextLeads checks that a leader which cannot reach etcd has stopped before another one begins.
func TestLostLeaderStopsBeforeTheNextLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		first := newCandidate(t, store)
		after(time.Second)
		second := newCandidate(t, store)
		after(time.Minute)
		if got := leaders(first, second); len(got) != 1 || got[0] != 0 {
			t.Fatalf("%v lead, want the first", got)
		}
		first.store.dead.Store(true)
		var without time.Duration
		for range 200 {
			after(100 * time.Millisecond)
			got := leaders(first, second)
			if len(got) > 1 {
				t.Fatal("two replicas lead")
			}
			if len(got) == 0 {
				without += 100 * time.Millisecond
			}
		}
		if got := leaders(first, second); len(got) != 1 || got[0] != 1 {
			t.Fatalf("%v lead, want the second", got)
		}
		if without < time.Second || without > leaseDuration {
			t.Errorf("%v passed without a leader", without)
		}
		first.store.dead.Store(false)
		after(time.Minute)
		if got := leaders(first, second); len(got) != 1 || got[0] != 1 {
			t.Errorf("%v lead after the first is back, want the second", got)
		}
	})
}

// TestEndedLeaderReleasesItsKey checks that a leader which ends gracefully releases its key at once.
func TestEndedLeaderReleasesItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		first := newCandidate(t, store)
		after(time.Second)
		first.stop()
		if _, _, err := store.Get(t.Context(), "leader"); err == nil {
			t.Error("the key still exists")
		}
		next := newCandidate(t, store)
		synctest.Wait()
		if !next.leading.Load() {
			t.Error("the next candidate does not lead at once")
		}
	})
}

// TestUnreadableKeyDoesNotBlockElection checks that a key which another program wrote does not block the election.
func TestUnreadableKeyDoesNotBlockElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Txn(map[string][]byte{"leader": []byte("me")}, nil)
		c := newCandidate(t, store)
		after(leaseDuration + 2*retryPeriod)
		if !c.leading.Load() {
			t.Error("no candidate leads")
		}
	})
}

// TestReplicasDeleteEachObjectOnce checks that replicas delete each object once.
func TestReplicasDeleteEachObjectOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.start()
		w.start()
		w.put("Parent/a/p")
		for _, name := range []string{"c1", "c2", "c3", "c4", "c5"} {
			w.put("Child/a/"+name, "Parent/p")
		}
		synctest.Wait()
		w.remove("Parent/a/p")
		after(time.Minute)
		w.expect()
		if n := w.deletes.Load(); n != 5 {
			t.Errorf("5 objects were deleted by %d attempts", n)
		}
	})
}

// TestIdleCollectorWritesNothing checks that an idle gateway writes nothing to etcd, and has no leader.
func TestIdleCollectorWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.put("Child/a/c", "Parent/p")
		after(time.Second)
		w.expect()
		if w.leader("garbage") == "" {
			t.Error("no replica leads just after a deletion")
		}
		after(2 * idleTimeout)
		if holder := w.leader("garbage"); holder != "" {
			t.Errorf("%s leads with nothing to do", holder)
		}
		before, err := w.store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after(time.Hour)
		if now, err := w.store.Revision(t.Context()); err != nil || now != before {
			t.Errorf("revision %d, then %d (%v) without a write", before, now, err)
		}
	})
}

// TestShutdownReleasesLeadership checks that a replica leads at once after a restart.
func TestShutdownReleasesLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stop := w.start()
		w.put("Child/a/c", "Parent/p")
		after(time.Second)
		stop()
		if holder := w.leader("garbage"); holder != "" {
			t.Errorf("%s leads after its end", holder)
		}
		w.start()
		w.put("Child/a/c", "Parent/p")
		after(100 * time.Millisecond)
		w.expect()
	})
}
