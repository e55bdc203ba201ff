package gateway

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore/memory"
)

// TestKeyCacheTooLarge: what is too large to be watched is not read again for each client that asks, and is watched soon after it
// has become smaller, however often they ask.
func TestKeyCacheTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Txn(map[string][]byte{"/app/a": []byte(strings.Repeat("1", 1000))}, nil)
		cs := &keyCaches{store: store, logger: slog.New(slog.DiscardHandler), most: 2, mostBytes: 100, mostOfAll: 1000}
		ctx, cancel := context.WithCancel(t.Context())
		cs.begin(ctx)
		var running sync.WaitGroup
		running.Go(func() { cs.run(ctx) })
		defer running.Wait()
		defer cancel()
		ask := func() (tooLarge bool) {
			c, err := cs.acquire(ranges(t, "/app/"))
			if err != nil {
				t.Fatal(err)
			}
			defer cs.release(c)
			select {
			case <-c.exceeded:
				return true
			case <-c.Filled():
				return false
			}
		}
		if !ask() {
			t.Fatal("it is watched")
		}
		store.Txn(nil, []string{"/app/a"})
		for range 10 {
			if !ask() {
				t.Error("it was read again at once")
			}
			<-time.After(keyCacheLinger / 12)
		}
		<-time.After(keyCacheLinger / 4)
		if ask() {
			t.Error("it is not watched after it has become smaller")
		}
	})
}
