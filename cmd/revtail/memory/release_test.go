package memory

import (
	"testing"
	"time"
)

func TestReleaseWhenIdleAfterMuchWork(t *testing.T) {
	const little, much = idleAllocation, minAllocated
	start := time.Now()
	d := idleDetector{allocated: 100, released: 100}
	for i, period := range []struct {
		after     time.Duration
		allocated uint64
		want      bool
	}{
		{1, little, false}, // idle, nothing to release
		{2, much, false},   // busy
		{3, little, true},  // idle
		{4, 0, false},      // still idle: released already
		{5, much, false},   // busy
		{6, 0, false},      // idle, within releaseInterval
		{3*time.Second + releaseInterval, 0, true},     // the release follows later
		{4*time.Second + 2*releaseInterval, 0, false},  // nothing was allocated
		{5*time.Second + 2*releaseInterval, 10, false}, // too little was allocated
	} {
		if got := d.shouldRelease(start.Add(period.after), heap{allocated: d.allocated + period.allocated, live: 1 << 20, free: minFree - 1}); got != period.want {
			t.Errorf("period %d: released: %v, want %v", i, got, period.want)
		}
	}
}

func TestNoReleaseOfLittleInLargeHeap(t *testing.T) {
	const live = 80 * minAllocated
	d := idleDetector{}
	d.shouldRelease(time.Now(), heap{allocated: 2 * minAllocated, live: live})
	if d.shouldRelease(time.Now(), heap{allocated: 2 * minAllocated, live: live}) {
		t.Error("a collection ran for a fortieth of the heap")
	}
	d.shouldRelease(time.Now(), heap{allocated: 10 * minAllocated, live: live})
	if !d.shouldRelease(time.Now(), heap{allocated: 10 * minAllocated, live: live}) {
		t.Error("no collection ran for an eighth of the heap")
	}
}

func TestReleaseOfFreeMemory(t *testing.T) {
	const live = 400 * minFree // of which minFreeShare is two minFree
	d := idleDetector{}
	if d.shouldRelease(time.Now(), heap{live: live, free: minFree}) {
		t.Error("a collection ran for a 400th of the heap")
	}
	if !d.shouldRelease(time.Now(), heap{live: live, free: 2 * minFree}) {
		t.Error("no collection ran, though a 200th of the heap is free")
	}
}
