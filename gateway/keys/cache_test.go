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

	"revtail/etcdstore/memory"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

// startCaches starts the caches of a store; stop ends them.
func startCaches(t *testing.T, store *memory.Store) (cs *rangeCaches, stop func()) {
	t.Helper()
	cs = newRangeCaches(store, slog.New(slog.DiscardHandler), 0)
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
	c, err := cs.acquire(ranges(t, keys...))
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
			defer cs.release(c)
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
	cs.release(c)
	cs.release(again)
	cs.maxBytesOfAll = 1
	if other, err := acquire(t, cs, "/other/"); err != nil || len(cs.open) != 1 { // an unused cache is removed
		t.Errorf("%d caches, %v", len(cs.open), err)
	} else {
		cs.release(other)
	}
}

// TestRangeCaches checks that all watches of a range share a cache, that an unused cache is dropped for another range, and that a range
// above the limit is refused.
func TestRangeCaches(t *testing.T) {
	const most = 3
	cs, stop := startCaches(t, memory.New())
	defer stop()
	cs.maxCaches = most
	for i := range most + 2 {
		c, err := acquire(t, cs, fmt.Sprintf("/app/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		cs.release(c)
	}
	if n := len(cs.open); n != most {
		t.Errorf("%d caches, want %d", n, most)
	}
	for i := range most {
		keys := fmt.Sprintf("/app/%d", i)
		if one, err := acquire(t, cs, keys); err != nil {
			t.Error(err)
		} else if other, err := acquire(t, cs, keys); err != nil || other != one {
			t.Errorf("the next watch of %s has another cache, %v", keys, err)
		}
	}
	if _, err := cs.acquire(ranges(t, "/app/more")); !errors.Is(err, status.ErrTooManyRanges) {
		t.Errorf("a range above the limit: %v", err)
	}
	if figures := cs.figures(); len(figures) != 1 || figures[0].Resource != "keys" {
		t.Errorf("figures %v", figures)
	}
}
