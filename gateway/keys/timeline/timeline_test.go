package timeline

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

func newTimeline(store etcdstore.Store) *Timeline {
	return New(store, nil, slog.New(slog.DiscardHandler))
}

// run keeps the timelines of n gateways; stop ends them.
func run(t *testing.T, store *memory.Store, n int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-time.After(time.Duration(i) * 3 * time.Second) // in a bubble: gateways do not start at once
			newTimeline(store).Run(ctx)
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

func put(store *memory.Store, value string) etcdstore.Revision {
	return store.Txn(map[string][]byte{"/app/a": []byte(value)}, nil)
}

func points(t *testing.T, store *memory.Store) []etcdstore.KV {
	t.Helper()
	page, err := store.List(t.Context(), Prefix, etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return page.KVs
}

// pass lets time pass, to a time between two ticks.
func pass(d time.Duration) {
	<-time.After(d) // in a bubble
	synctest.Wait()
}

// TestAt checks that a read at a time has all writes until then, except for the last seconds, that several gateways share one timeline, and
// that an idle store gets no points.
func TestAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer run(t, store, 3)()
		pass(time.Minute)
		if n := len(points(t, store)); n > 0 {
			t.Fatalf("%d points of a store without a write", n)
		}
		type write struct {
			at       time.Time
			revision etcdstore.Revision
		}
		var writes []write
		for i := range 30 {
			writes = append(writes, write{time.Now(), put(store, "x")})
			pass(time.Duration(1+i%7) * 7 * time.Second)
		}
		line := newTimeline(store)
		for when := writes[0].at.Add(2 * interval); when.Before(time.Now()); when = when.Add(3 * time.Second) {
			var least, most etcdstore.Revision
			for _, w := range writes {
				if !w.at.After(when.Add(-2 * interval)) {
					least = w.revision
				}
				if !w.at.After(when) {
					most = w.revision
				}
			}
			// the timeline's own writes are in between
			if p, err := line.At(t.Context(), nil, when); err != nil || p.Revision < least || p.Revision > most+etcdstore.Revision(len(writes)) || p.Time.After(when) {
				t.Errorf("at %v: %+v, %v; want a revision from %d to %d", when, p, err, least, most)
			}
			if p, err := line.At(t.Context(), nil, when); err == nil {
				if kv, err := store.List(t.Context(), "/app/a", etcdstore.ListOptions{At: p.Revision}); err != nil || kv.KVs[0].Modified > most || kv.KVs[0].Modified < least {
					t.Errorf("at %v the key is of revision %d, want one from %d to %d; %v", when, kv.KVs[0].Modified, least, most, err)
				}
			}
		}
		pass(time.Minute)
		before := len(points(t, store))
		if before > 2*len(writes) || before < len(writes) {
			t.Errorf("%d points of %d writes", before, len(writes))
		}
		pass(time.Hour)
		if n := len(points(t, store)); n != before {
			t.Errorf("%d more points in an hour without a write", n-before)
		}
	})
}

// TestBefore checks that the error for a time before the timeline names its oldest point, and that points are removed with the history.
func TestBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		line := newTimeline(store)
		var before *BeforeError
		if _, err := line.At(t.Context(), nil, time.Now()); !errors.As(err, &before) || before.Oldest != nil {
			t.Errorf("without a point: %v", err)
		}
		defer run(t, store, 2)()
		began := time.Now()
		var compact etcdstore.Revision
		for i := range 100 {
			revision := put(store, "x")
			if i == 50 {
				compact = revision
			}
			pass(interval)
		}
		p, err := line.At(t.Context(), nil, began.Add(2*interval))
		if err != nil || p.Time.Before(began) {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, err = line.At(t.Context(), nil, began.Add(-time.Second)); !errors.As(err, &before) || before.Oldest == nil || before.Oldest.Revision != 2 {
			t.Errorf("before the first point: %v", err)
		}
		if err := store.Compact(compact); err != nil {
			t.Fatal(err)
		}
		for range pruneInterval/interval + 1 {
			put(store, "x")
			pass(interval)
		}
		for _, kv := range points(t, store) {
			if p, ok := parse(kv); !ok || p.Revision < compact {
				t.Errorf("a point of a compacted revision is left: %+v", p)
			}
		}
		if _, err := line.At(t.Context(), nil, began.Add(2*interval)); !errors.As(err, &before) || before.Oldest.Revision < compact {
			t.Errorf("before the compaction: %v", err)
		}
	})
}

// TestTooMany checks that the number of points is limited, and that older points are removed first.
func TestTooMany(t *testing.T) {
	store := memory.New()
	line := newTimeline(store)
	line.max = 400
	now := time.Now()
	puts := map[string][]byte{}
	for i := range line.max + 100 {
		puts[keyOf(now.Add(-time.Duration(i)*interval))] = []byte(`{"time":"2026-11-21T10:00:00Z","revision":1}`)
	}
	store.Txn(puts, nil)
	if err := line.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := points(t, store)
	if want := (line.max + 100) * 3 / 4; len(left) != want {
		t.Errorf("%d points are left, want %d", len(left), want)
	}
	if left[100].Key != keyOf(now.Add(-100*interval)) {
		t.Errorf("the newer half has changed")
	}
}
