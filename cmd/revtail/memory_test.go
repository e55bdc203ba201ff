package main

import (
	"runtime"
	"testing"
	"time"
)

func TestGarbageIsHeldInProportion(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{{0, 300}, {1 << 20, 300}, {headroomLeast, 100}, {2 * headroomLeast, 50}, {6 * headroomLeast, 33}, {1 << 40, 33}} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("beside %d live bytes: %d %%, want %d %%", test.live, got, test.want)
		}
	}
}

func TestEachCollectionIsSeen(t *testing.T) {
	seen, over := make(chan struct{}), t.Context().Done()
	afterEachCollection(func() {
		select {
		case seen <- struct{}{}:
		case <-over:
		}
	})
	for times := 0; times < 3; {
		runtime.GC()
		select {
		case <-seen:
			times++
		default:
		}
	}
}

func TestMemoryIsGivenBackAtRestAfterMuchWork(t *testing.T) {
	const little, much = restAllocation, restWorth
	start := time.Now()
	r := rest{seen: 100, given: 100}
	for i, period := range []struct {
		after     time.Duration
		allocated uint64
		want      bool
	}{
		{1, little, false},                       // at rest, after nothing
		{2, much, false},                         // at work
		{3, little, true},                        // at rest
		{4, 0, false},                            // still: once is enough
		{5, much, false},                         // at work
		{6, 0, false},                            // at rest, too soon after the last time
		{3*time.Second + restApart, 0, true},     // late is not never
		{4*time.Second + 2*restApart, 0, false},  // nothing was done meanwhile
		{5*time.Second + 2*restApart, 10, false}, // nor worth it
	} {
		if got := r.begins(start.Add(period.after), r.seen+period.allocated, 1<<20); got != period.want {
			t.Errorf("period %d: given back: %v, want %v", i, got, period.want)
		}
	}
}

func TestLargeHeapsAreNotCollectedForLittle(t *testing.T) {
	const live = 80 * restWorth
	r := rest{}
	r.begins(time.Now(), 2*restWorth, live)
	if r.begins(time.Now(), 2*restWorth, live) {
		t.Error("what is a fortieth of the heap was worth a collection")
	}
	r.begins(time.Now(), 10*restWorth, live)
	if !r.begins(time.Now(), 10*restWorth, live) {
		t.Error("what is an eighth of the heap was not worth a collection")
	}
}
