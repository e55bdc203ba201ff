package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// idlePeriod is the time between two readings of the heap.
	idlePeriod = 500 * time.Millisecond
	// idleAllocation is the number of bytes that an idle period may allocate.
	idleAllocation = 256 << 10
	// minAllocated and minAllocatedShare, a share of the live heap, are the allocations that are worth the collection of a release.
	minAllocated      = 32 << 20
	minAllocatedShare = 1.0 / 8
	// releaseInterval is the minimum time between two releases.
	releaseInterval = 2 * time.Second
	// endedWatchBytes is about the memory that a watch frees when it ends. It counts as allocated then, because ending a watch
	// allocates little.
	endedWatchBytes = 12 << 10
)

// ReleaseWhenIdle returns free memory to the system now, and whenever the process is idle after it allocated much or after many
// watches ended, because the runtime would keep that memory for minutes. endedWatches is the number of watches that ended so far.
// It returns when ctx ends.
func ReleaseWhenIdle(ctx context.Context, endedWatches func() uint64) {
	release()
	read := func() (allocated, live uint64) {
		now := readHeap()
		return now.allocated + endedWatches()*endedWatchBytes, now.live
	}
	allocated, _ := read()
	d := idleDetector{allocated: allocated} // what was allocated before counts, because a start has more to do when this is called
	for tick := time.Tick(idlePeriod); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			if allocated, live := read(); d.shouldRelease(now, allocated, live) {
				release()
			}
		}
	}
}

// idleDetector finds the periods in which a release is worth its collection. All sums are bytes since the start of the process.
type idleDetector struct {
	allocated  uint64 // at the end of the last period
	released   uint64 // allocated at the last release
	releasedAt time.Time
}

// shouldRelease is called once per period. It reports whether the period was idle and memory is to be released now.
func (d *idleDetector) shouldRelease(now time.Time, allocated, live uint64) bool {
	idle := allocated-d.allocated <= idleAllocation
	d.allocated = allocated
	worth := max(minAllocated, uint64(minAllocatedShare*float64(live)))
	if !idle || allocated-d.released < worth || now.Sub(d.releasedAt) < releaseInterval {
		return false
	}
	d.released, d.releasedAt = allocated, now
	return true
}

// release returns free memory to the system.
func release() {
	runtime.GC() // FreeOSMemory collects again: the contents of a sync.Pool survive one collection
	debug.FreeOSMemory()
}
