package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore/memory"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/watchcache"
)

// startCaches starts the caches of a store; stop ends them.
func startCaches(t *testing.T, store *memory.Store) (cs *rangeCaches, stop func()) {
	t.Helper()
	cs = newRangeCaches(store, slog.New(slog.DiscardHandler), flowcontrol.NewPools(flowcontrol.Limits{}, nil))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	cs.start(ctx, &running)
	return cs, func() {
		cancel()
		running.Wait()
	}
}

// acquire returns the cache of ranges, or the error of its watches.
func acquire(t *testing.T, cs *rangeCaches, keys ...string) (*rangeCache, error) {
	t.Helper()
	c, err := cs.acquire(ranges(t, keys...), "user")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ready(t.Context(), false)
	return c, err
}

// TestRangeTooLarge checks that a range that is too large is not read again for each request, and can be watched soon after it has become
// smaller.
func TestRangeTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Txn(map[string][]byte{"/app/a": []byte(strings.Repeat("1", 1000))}, nil)
		cs, stop := startCaches(t, store)
		defer stop()
		cs.maxBytes = 100
		isTooLarge := func() bool {
			c, err := acquire(t, cs, "/app/")
			defer cs.release(c, "user")
			return errors.Is(err, errRangeTooLarge)
		}
		if !isTooLarge() {
			t.Fatal("the range is watched")
		}
		store.Txn(nil, []string{"/app/a"})
		for range 10 {
			if !isTooLarge() {
				t.Error("the range was read again at once")
			}
			<-time.After(rangeCacheLinger / 12)
		}
		<-time.After(rangeCacheLinger / 4)
		if isTooLarge() {
			t.Error("the range is not watched after it has become smaller")
		}
	})
}

// TestRangeBecomesTooLarge checks that the watches of a range end when it becomes too large, and that new ones are refused.
func TestRangeBecomesTooLarge(t *testing.T) {
	store := memory.New()
	store.Txn(map[string][]byte{"/app/a": []byte("1")}, nil)
	cs, stop := startCaches(t, store)
	defer stop()
	cs.maxBytes = 2000
	c, err := acquire(t, cs, "/app/")
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := c.Watch(watchcache.WatchQuery{After: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for i := 0; err == nil; i++ {
		store.Txn(map[string][]byte{fmt.Sprintf("/app/%d", i): []byte(strings.Repeat("1", 500))}, nil)
		_, err = watcher.Next(t.Context())
	}
	if !errors.Is(err, watchcache.ErrStopped) {
		t.Errorf("the watch ends with %v", err)
	}
	again, err := acquire(t, cs, "/app/")
	if !errors.Is(err, errRangeTooLarge) || again != c {
		t.Errorf("the next watch: %v", err)
	}
	cs.release(c, "user")
	cs.release(again, "user")
	cs.bytes = flowcontrol.NewPool(flowcontrol.Config{Resource: "bytes", Seats: 1})
	full, err := cs.bytes.Acquire(t.Context(), "user", 1)
	if err != nil {
		t.Fatal(err)
	}
	full.Park()                                                                   // as the bytes of unused caches are
	if other, err := acquire(t, cs, "/other/"); err != nil || len(cs.open) != 1 { // an unused cache is removed
		t.Errorf("%d caches, %v", len(cs.open), err)
	} else {
		cs.release(other, "user")
	}
}

// TestRangeCaches checks that all watches of a range share a cache, that an unused cache is dropped for another range, and that a user has a
// share of the caches.
func TestRangeCaches(t *testing.T) {
	const most = 8
	cs, stop := startCaches(t, memory.New())
	defer stop()
	cs.places = flowcontrol.NewPool(flowcontrol.Config{Resource: "ranges", Seats: most})
	for i := range most + 2 {
		c, err := acquire(t, cs, fmt.Sprintf("/app/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		cs.release(c, "user")
	}
	if n := len(cs.open); n != most {
		t.Errorf("%d caches, want %d", n, most)
	}
	for i := range most / 2 {
		keys := fmt.Sprintf("/app/%d", i)
		if one, err := acquire(t, cs, keys); err != nil {
			t.Error(err)
		} else if other, err := acquire(t, cs, keys); err != nil || other != one {
			t.Errorf("the next watch of %s has another cache, %v", keys, err)
		}
	}
	if _, err := cs.acquire(ranges(t, "/app/more"), "user"); !errors.As(err, new(*flowcontrol.RejectedError)) {
		t.Errorf("a range above the share: %v", err)
	}
	for _, user := range []string{"second", "third", "fourth"} {
		if _, err := cs.acquire(ranges(t, "/"+user), user); err != nil {
			t.Errorf("the %s user: %v", user, err)
		}
	}
	if figures := cs.figures(); len(figures) != 1 || figures[0].Resource != "keys" {
		t.Errorf("figures %v", figures)
	}
}

// TestRangeCountsForOneUser checks that a cache counts for one of its users, for another when that one leaves, and for nobody without users.
func TestRangeCountsForOneUser(t *testing.T) {
	store := memory.New()
	store.Txn(map[string][]byte{"/app/a": []byte(strings.Repeat("1", 200_000))}, nil)
	cs, stop := startCaches(t, store)
	defer stop()
	pools := &flowcontrol.Pools{KeyRanges: cs.places, KeyRangeBytes: cs.bytes}
	holders := func() (users []string) {
		for _, f := range pools.View().Flows {
			users = append(users, fmt.Sprint(f.User, " ", f.Resource, " ", f.InUse > 0))
		}
		return users
	}
	want := func(users ...string) {
		t.Helper()
		if diff := cmp.Diff(users, holders()); diff != "" {
			t.Error(diff)
		}
	}
	keys := ranges(t, "/app/")
	c, err := cs.acquire(keys, "first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cs.acquire(keys, "second"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ready(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	want("first key_ranges true", "first key_range_bytes true")
	cs.release(c, "first")
	want("second key_ranges true", "second key_range_bytes true")
	cs.release(c, "second")
	want()
	if again, err := cs.acquire(keys, "third"); err != nil || again != c {
		t.Errorf("the cache is not used again: %v", err)
	}
	want("third key_ranges true", "third key_range_bytes true")
}

// TestRangesOfAGreedyUser checks that a range for whose bytes a user has no share left is refused, and that another user can watch it.
func TestRangesOfAGreedyUser(t *testing.T) {
	store := memory.New()
	for i := range 8 {
		store.Txn(map[string][]byte{fmt.Sprintf("/app/%d/a", i): []byte(strings.Repeat("1", 1000))}, nil)
	}
	cs, stop := startCaches(t, store)
	defer stop()
	cs.bytes = flowcontrol.NewPool(flowcontrol.Config{Resource: "bytes", Seats: 5000})
	watched, last := 0, ""
	var refused *rangeCache
	for i := range 8 {
		last = fmt.Sprintf("/app/%d/", i)
		c, err := cs.acquire(ranges(t, last), "greedy")
		if err == nil {
			if _, err = c.ready(t.Context(), false); err == nil {
				watched++
				continue
			}
			refused = c
		}
		if !errors.As(err, new(*flowcontrol.RejectedError)) {
			t.Fatal(err)
		}
	}
	if watched != 2 || refused == nil { // half of 5000 bytes
		t.Fatalf("a user watches %d ranges", watched)
	}
	keys := ranges(t, last)
	if again, err := cs.acquire(keys, "greedy"); err != nil || again != refused {
		t.Errorf("the same user has the range read again: %v", err)
	}
	c, err := cs.acquire(keys, "modest")
	if err != nil || c == refused {
		t.Fatalf("another user: %v", err)
	}
	if _, err := c.ready(t.Context(), false); err != nil {
		t.Errorf("another user: %v", err)
	}
}
