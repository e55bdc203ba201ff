package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// headroomShare is how much of what is live may be garbage while there is work, and headroomLeast how much in any case. Most
	// of a large heap is documents, which cost a collection nothing to pass over; so it is cheaper to collect more often than to
	// hold twice of them. A small heap is not worth a collection for each few of its megabytes.
	headroomShare = 1.0 / 3
	headroomLeast = 32 << 20
	// headroomMost is a percentage of what is live: a process that has just started needs no 32 MiB.
	headroomMost = 300
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
	return int(min(100*headroom/max(float64(live), 1), headroomMost))
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

const (
	restPeriod = 500 * time.Millisecond
	// restAllocation is how much may be allocated in a period of rest. After restWorth, or restShare of what is live, giving back
	// is worth its collection, at most every restApart.
	restAllocation = 256 << 10
	restWorth      = 32 << 20
	restShare      = 1.0 / 8
	restApart      = 2 * time.Second
)

// giveMemoryBackAtRest returns garbage to the system now, and each time that the program comes to rest after it allocated much,
// as it does for thousands of watches that are opened: the runtime would hold it for long. Until ctx ends.
func giveMemoryBackAtRest(ctx context.Context) {
	giveMemoryBack()
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	read := func() (allocated, live uint64) {
		metrics.Read(heap)
		return heap[0].Value.Uint64(), heap[1].Value.Uint64()
	}
	allocated, _ := read()
	r := rest{seen: allocated, given: allocated}
	ticker := time.NewTicker(restPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if allocated, live := read(); r.begins(now, allocated, live) {
				giveMemoryBack()
			}
		}
	}
}

// rest tells when the program comes to rest, by the sum of all that it ever allocated.
type rest struct {
	seen  uint64 // the sum a period ago
	given uint64 // the sum when garbage was given back
	at    time.Time
}

// begins is asked once a period: whether this one was of rest, and garbage is to be given back.
func (r *rest) begins(now time.Time, allocated, live uint64) bool {
	calm := allocated-r.seen <= restAllocation
	r.seen = allocated
	worth := max(restWorth, uint64(restShare*float64(live)))
	if !calm || allocated-r.given < worth || now.Sub(r.at) < restApart {
		return false
	}
	r.given, r.at = allocated, now
	return true
}

// giveMemoryBack returns to the system what is garbage now.
func giveMemoryBack() {
	runtime.GC() // what lies in pools survives one collection
	debug.FreeOSMemory()
}
