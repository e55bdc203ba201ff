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
	// minFree and minFreeShare, a share of the live heap, are the free memory that is worth a release: the runtime keeps a tenth of the heap.
	minFree      = 8 << 20
	minFreeShare = 1.0 / 200
	// releaseInterval is the minimum time between two releases.
	releaseInterval = 2 * time.Second
	// endedWatchBytes is about the memory that a watch frees when it ends. It counts as allocated then, because ending a watch
	// allocates little.
	endedWatchBytes = 12 << 10
)

// ReleaseWhenIdle returns free memory to the system now, and whenever the process is idle after it allocated much, after many
// watches ended, or while much memory is free, because the runtime would keep that memory for minutes. endedWatches is the number of watches that ended so far.
// It returns when ctx ends.
func ReleaseWhenIdle(ctx context.Context, endedWatches func() uint64) {
	release()
	read := func() heap {
		now := readHeap()
		now.allocated += endedWatches() * endedWatchBytes
		return now
	}
	d := idleDetector{allocated: read().allocated} // what was allocated before counts, because a start has more to do when this is called
	for tick := time.Tick(idlePeriod); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			if d.shouldRelease(now, read()) {
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
func (d *idleDetector) shouldRelease(at time.Time, now heap) bool {
	idle := now.allocated-d.allocated <= idleAllocation
	d.allocated = now.allocated
	worth := now.allocated-d.released >= max(minAllocated, share(minAllocatedShare, now.live)) || now.free >= max(minFree, share(minFreeShare, now.live))
	if !idle || !worth || at.Sub(d.releasedAt) < releaseInterval {
		return false
	}
	d.released, d.releasedAt = now.allocated, at
	return true
}

func share(part float64, bytes uint64) uint64 { return uint64(part * float64(bytes)) }

// release returns free memory to the system.
func release() {
	runtime.GC() // FreeOSMemory collects again: the contents of a sync.Pool survive one collection
	debug.FreeOSMemory()
}
