package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// others is the maximum of revisions by other writes to etcd, because a gateway writes its timeline there.
const others = 1024

// tracker follows a number of events from their acknowledgement to the last watcher. Their revisions are among those after base; the check
// of the sequences handles others.
type tracker struct {
	base    int64
	waiting []atomic.Int32 // number of watchers without the event
	acked   []atomic.Int64 // times in nanoseconds since start; zero: not acknowledged
	seenAll []atomic.Int64 // times at which the last watcher had the event
	start   time.Time

	complete atomic.Int64 // number of events that the last watcher has
	mu       sync.Mutex   // guards the field below
	moved    *sync.Cond   // complete has grown
}

func newTracker(base int64, events, watchers int) *tracker {
	revisions := events + others
	t := &tracker{base: base, start: time.Now(), waiting: make([]atomic.Int32, revisions), acked: make([]atomic.Int64, revisions),
		seenAll: make([]atomic.Int64, revisions)}
	t.moved = sync.NewCond(&t.mu)
	for i := range t.waiting {
		t.waiting[i].Store(int32(watchers))
	}
	return t
}

// seen is called by each watcher for each event.
func (t *tracker) seen(revision int64) {
	i := revision - t.base - 1
	if i < 0 || i >= int64(len(t.waiting)) || t.waiting[i].Add(-1) != 0 {
		return
	}
	t.seenAll[i].Store(int64(time.Since(t.start)))
	t.mu.Lock()
	t.complete.Add(1)
	t.moved.Broadcast()
	t.mu.Unlock()
}

// ack records the acknowledgement of an event.
func (t *tracker) ack(revision int64) {
	if i := revision - t.base - 1; i >= 0 && i < int64(len(t.acked)) {
		t.acked[i].Store(int64(time.Since(t.start)))
	}
}

// reach waits until the last watcher has that many events, or ctx ends.
func (t *tracker) reach(ctx context.Context, events int64) error {
	if t.complete.Load() >= events {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		t.moved.Broadcast()
		t.mu.Unlock()
	})
	defer stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.complete.Load() < events {
		if ctx.Err() != nil {
			return fmt.Errorf("after %v the last watcher has %d of %d events", time.Since(t.start).Round(time.Millisecond), t.complete.Load(), events)
		}
		t.moved.Wait()
	}
	return nil
}

// lags returns the times from the acknowledgement of each event to the last watcher, in milliseconds, sorted.
func (t *tracker) lags() []float64 {
	var lags []float64
	for i := range t.acked {
		if acked := t.acked[i].Load(); acked != 0 {
			lags = append(lags, max(0, time.Duration(t.seenAll[i].Load()-acked).Seconds()*1000))
		}
	}
	slices.Sort(lags)
	return lags
}
