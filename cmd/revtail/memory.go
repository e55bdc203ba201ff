package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// headroomShare is how much of what is live may be garbage, and headroomLeast how much in any case, as long as it is not
	// more than what is live: the runtime's own rule. Most of a large heap is documents, which cost a collection nothing to
	// pass over; so it is cheaper to collect more often than to hold twice of them.
	headroomShare = 1.0 / 6
	headroomLeast = 12 << 20
)

// holdLittleGarbage makes the runtime collect garbage earlier than it would where the heap is large, from now on, unless the
// environment says when (GOGC).
func holdLittleGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := 100
	afterEachCollection(func() {
		metrics.Read(live)
		if want := gcPercent(live[0].Value.Uint64()); want != percent {
			percent = want
			debug.SetGCPercent(want)
		}
	})
}

// gcPercent is how much garbage there may be beside what is live.
func gcPercent(live uint64) int {
	headroom := max(headroomShare*float64(live), headroomLeast)
	return int(min(100*headroom/max(float64(live), 1), 100))
}

// afterEachCollection calls do when the garbage collector has run, as long as the process lives; not twice at once.
func afterEachCollection(do func()) {
	type sentinel struct{ _ [16]byte } // large enough to be no part of a block of tiny objects, which lives longer
	var watch func()
	watch = func() {
		runtime.AddCleanup(&sentinel{}, func(do func()) {
			do()
			watch()
		}, do)
	}
	watch()
}

// giveMemoryBack returns to the system what is garbage now.
func giveMemoryBack() {
	runtime.GC() // what lies in pools survives one collection
	debug.FreeOSMemory()
}
