package main

import (
	"runtime"
	"testing"
)

func TestGarbageIsHeldInProportion(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{{0, 100}, {1 << 20, 100}, {headroomLeast, 100}, {2 * headroomLeast, 50}, {6 * headroomLeast, 16}, {1 << 40, 16}} {
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
