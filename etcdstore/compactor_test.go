package etcdstore_test

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
)

// compaction is a compaction by a compactor: its name, the time, and how long ago the revision was the newest.
type compaction struct {
	who  string
	when time.Duration // since the start
	kept time.Duration
}

// clockwork is a store written once a minute, and compactors on it.
type clockwork struct {
	*memory.Store
	start time.Time

	mu          sync.Mutex // guards the fields below
	written     map[etcdstore.Revision]time.Time
	compactions []compaction
}

func newClockwork() *clockwork {
	return &clockwork{Store: memory.New(), start: time.Now(), written: map[etcdstore.Revision]time.Time{}}
}

// write writes once a minute, half a minute past it, until ctx ends.
func (c *clockwork) write(ctx context.Context) {
	<-time.After(30 * time.Second)
	for ctx.Err() == nil {
		rev := c.Txn(map[string][]byte{"/registry/a": nil}, nil)
		c.mu.Lock()
		c.written[rev] = time.Now()
		c.mu.Unlock()
		<-time.After(time.Minute)
	}
}

// compactTo records the compaction with the name of the compactor, and compacts.
func (c *clockwork) compactTo(who string) func(context.Context, etcdstore.Revision) error {
	return func(_ context.Context, rev etcdstore.Revision) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for c.written[rev].IsZero() && rev > 1 {
			rev-- // marks need revisions too
		}
		c.compactions = append(c.compactions, compaction{who, time.Since(c.start), time.Since(c.written[rev])})
		return c.Compact(rev)
	}
}

func (c *clockwork) marks(t *testing.T) (etcdstore.KV, bool) {
	t.Helper()
	kv, _, err := c.Get(t.Context(), etcdstore.BookkeepingKey)
	if err != nil && !errors.Is(err, etcdstore.ErrNotFound) {
		t.Fatal(err)
	}
	return kv, err == nil
}

// runFor runs compactors with a history of an hour for a duration.
func (c *clockwork) runFor(t *testing.T, d, history time.Duration, names ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.write(ctx) })
	for i, name := range names {
		wg.Go(func() {
			select {
			case <-time.After(time.Duration(i) * time.Minute): // the compactors start one after the other
			case <-ctx.Done():
				return
			}
			if err := etcdstore.RunCompactor(ctx, c.Store, c.compactTo(name), history); !errors.Is(err, context.Canceled) {
				t.Errorf("compactor %s: %v", name, err)
			}
		})
	}
	<-time.After(d)
	cancel()
	wg.Wait()
}

func TestCompactor(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *clockwork){
		"writes nothing before the end of the first interval": func(t *testing.T, c *clockwork) {
			c.runFor(t, 6*time.Minute-time.Second, time.Hour, "a")
			if kv, ok := c.marks(t); ok {
				t.Errorf("found %s", kv.Value)
			}
		},
		"keeps between a history and a tenth more": func(t *testing.T, c *clockwork) {
			c.runFor(t, 3*time.Hour-time.Second, time.Hour, "a")
			// Marks at 6, 12, … minutes; the first compaction is at 66, when a mark is an hour old, the last at 174.
			if n := len(c.compactions); n != 19 {
				t.Errorf("%d compactions, want 19: %+v", n, c.compactions)
			}
			for _, got := range c.compactions {
				if got.kept < time.Hour || got.kept > time.Hour+time.Minute {
					t.Errorf("at %s kept %s", got.when, got.kept)
				}
			}
		},
		"one of several compacts": func(t *testing.T, c *clockwork) {
			c.runFor(t, 3*time.Hour-time.Second, time.Hour, "a", "b", "c")
			for _, got := range c.compactions {
				if got.who != "a" {
					t.Errorf("compaction by %s at %s", got.who, got.when)
				}
			}
			if n := len(c.compactions); n != 19 {
				t.Errorf("%d compactions, want 19", n)
			}
		},
		"another one continues": func(t *testing.T, c *clockwork) {
			c.runFor(t, 2*time.Hour, time.Hour, "a")
			before := len(c.compactions)
			c.runFor(t, 29*time.Minute, time.Hour, "b")
			if n := len(c.compactions) - before; n != 4 {
				t.Errorf("%d compactions by b, want 4 at once from a's marks", n)
			}
			for _, got := range c.compactions[before:] {
				if got.kept < time.Hour || got.kept > 2*time.Hour {
					t.Errorf("kept %s", got.kept)
				}
			}
		},
		"compacts also when it restarts often": func(t *testing.T, c *clockwork) {
			for i := range 20 {
				c.runFor(t, 10*time.Minute, time.Hour, fmt.Sprint(i))
			}
			if len(c.compactions) == 0 {
				t.Error("no compaction")
			}
			for _, got := range c.compactions {
				if got.kept < time.Hour {
					t.Errorf("kept only %s", got.kept)
				}
			}
		},
		"a longer history ignores the marks of a shorter one": func(t *testing.T, c *clockwork) {
			c.runFor(t, time.Hour, 10*time.Minute, "short")
			before := len(c.compactions)
			c.runFor(t, 2*time.Hour, time.Hour, "long")
			for _, got := range c.compactions[before:] {
				if got.kept < time.Hour {
					t.Errorf("kept only %s", got.kept)
				}
			}
			if len(c.compactions) == before {
				t.Error("no compaction")
			}
		},
		"unreadable marks are replaced": func(t *testing.T, c *clockwork) {
			c.Txn(map[string][]byte{etcdstore.BookkeepingKey: []byte("not JSON")}, nil)
			c.runFor(t, 2*time.Hour, time.Hour, "a")
			if len(c.compactions) == 0 {
				t.Error("no compaction")
			}
		},
		"marks above the newest revision are dropped": func(t *testing.T, c *clockwork) {
			lost := `{"time":"2026-11-21T00:00:00Z","history":"1h0m0s","revisions":[1,2,3,4,5,6,7,8,9,10,1000000]}`
			c.Txn(map[string][]byte{etcdstore.BookkeepingKey: []byte(lost)}, nil)
			c.runFor(t, 30*time.Minute, time.Hour, "a")
			if diff := cmp.Diff(0, len(c.compactions)); diff != "" {
				t.Errorf("compactions: %+v", c.compactions)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newClockwork()) })
		})
	}
}

func TestCompactorRefusesNoHistory(t *testing.T) {
	s := memory.New()
	compact := func(_ context.Context, rev etcdstore.Revision) error { return s.Compact(rev) }
	for _, history := range []time.Duration{0, -time.Hour} {
		if err := etcdstore.RunCompactor(t.Context(), s, compact, history); !errors.Is(err, etcdstore.ErrInvalid) {
			t.Errorf("history %s: error %v, want ErrInvalid", history, err)
		}
	}
}
