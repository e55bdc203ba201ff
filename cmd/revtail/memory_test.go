package main

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestGarbageIsHeldInProportion(t *testing.T) {
	const much = 1 << 50
	for _, test := range []struct {
		live         uint64
		enough, busy float64
		want         int
	}{
		{0, much, headroomLeast, 400}, {1 << 20, much, headroomLeast, 400}, {headroomLeast, much, headroomLeast, 100},
		{2 * headroomLeast, much, headroomLeast, 50}, {6 * headroomLeast, much, headroomLeast, 34}, {1 << 40, much, headroomLeast, 34},
		{headroomLeast, much, headroomWithEtcd, 400}, {headroomWithEtcd, much, headroomWithEtcd, 100}, {1 << 40, much, headroomWithEtcd, 34},
		{100 << 20, 0, headroomLeast, 2}, {100 << 20, 0, headroomWithEtcd, 2}, {1 << 40, 0, headroomLeast, 2}, // what is quiet
		{100 << 20, 10 << 20, headroomLeast, 10}, {100 << 20, 10 << 20, headroomWithEtcd, 10}, // what is in between
		{0, 0, headroomLeast, 400},
	} {
		if got := gcPercent(test.live, test.enough, test.busy); got != test.want {
			t.Errorf("beside %d live bytes, where %.0f are enough: %d %%, want %d %%", test.live, test.enough, got, test.want)
		}
	}
}

// TestGarbageIsHeldAsItIsMade: as much as is allocated while collections cost their share, at once when it becomes more, and by and
// by when it becomes less.
func TestGarbageIsHeldAsItIsMade(t *testing.T) {
	const each, perSecond = 0.004, 100 << 20
	now := heap{at: time.Now(), collections: 10, collecting: 10 * each}
	p := &pacer{last: now}
	next := func(allocated uint64) float64 {
		now.at, now.allocated = now.at.Add(pacePeriod), now.allocated+allocated
		return p.headroomLocked(now) / (perSecond * each / collectingShare)
	}
	for i, step := range []struct {
		allocated uint64
		want      float64
	}{{perSecond / 2, 1}, {perSecond, 2}, {0, 1}, {0, 0.5}, {perSecond / 2, 1}} {
		if got := next(step.allocated); math.Abs(got-step.want) > 0.01 {
			t.Errorf("period %d: %.2f times the headroom, want %.2f", i, got, step.want)
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
