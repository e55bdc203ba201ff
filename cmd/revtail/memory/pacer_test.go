package memory

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	const much = 1 << 50
	for _, test := range []struct {
		live          uint64
		wanted, least float64
		want          int
	}{
		{0, much, minHeadroom, 400}, {1 << 20, much, minHeadroom, 400}, {minHeadroom, much, minHeadroom, 100},
		{2 * minHeadroom, much, minHeadroom, 50}, {6 * minHeadroom, much, minHeadroom, 34}, {1 << 40, much, minHeadroom, 34},
		{minHeadroom, much, minHeadroomWithEtcd, 400}, {minHeadroomWithEtcd, much, minHeadroomWithEtcd, 100}, {1 << 40, much, minHeadroomWithEtcd, 34},
		{20 << 20, 0, minHeadroom, 5}, {100 << 20, 0, minHeadroom, 1}, {100 << 20, 0, minHeadroomWithEtcd, 1}, {1 << 40, 0, minHeadroom, 1}, // an idle heap
		{100 << 20, 10 << 20, minHeadroom, 10}, {100 << 20, 10 << 20, minHeadroomWithEtcd, 10}, // between idle and busy
		{0, 0, minHeadroom, 400},
	} {
		if got := gcPercent(test.live, test.wanted, test.least); got != test.want {
			t.Errorf("gcPercent(%d live, %.0f wanted) = %d %%, want %d %%", test.live, test.wanted, got, test.want)
		}
	}
}

// TestHeadroomFollowsAllocationRate checks that the headroom grows at once with the allocation rate, and halves per period when the rate
// falls.
func TestHeadroomFollowsAllocationRate(t *testing.T) {
	const each, perSecond = 0.004, 100 << 20
	now := heap{at: time.Now(), collections: 10, gcSeconds: 10 * each}
	p := &pacer{last: now}
	next := func(allocated uint64) float64 {
		now.at, now.allocated = now.at.Add(pacePeriod), now.allocated+allocated
		return p.headroomLocked(now) / (perSecond * each / gcShare)
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

func TestAfterEachGC(t *testing.T) {
	seen, over := make(chan struct{}), t.Context().Done()
	afterEachGC(func() {
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
