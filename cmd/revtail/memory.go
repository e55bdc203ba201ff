package main

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// headroomShare is how much of what is live may be garbage while there is much work, and headroomLeast how much in any case. Most
	// of a large heap is documents, which cost a collection nothing to pass over; so it is cheaper to collect more often than to
	// hold twice of them. A small heap is not worth a collection for each few of its megabytes.
	headroomShare = 1.0 / 3
	headroomLeast = 32 << 20
	// headroomWithEtcd is headroomLeast where etcd is in the process too: a write then leaves twice as much garbage as a gateway
	// makes of it, and etcd's own process would be given as much as it holds.
	headroomWithEtcd = 128 << 20
	// headroomMost is a percentage of what is live: a process that has just started needs no 32 MiB.
	headroomMost = 400

	// collectingShare is how much of a processor collections may take where that means less garbage: as slowly as most programs
	// make it, holding much of it saves nothing. quietShare of what is live is worth no collection, nor is quietLeast.
	collectingShare = 1.0 / 50
	quietShare      = 1.0 / 64
	quietLeast      = 1 << 20
	// pacePeriod is how often it is looked at, besides after each collection.
	pacePeriod = 500 * time.Millisecond
)

// holdsEtcd is set when etcd runs in this process.
var holdsEtcd atomic.Bool

// holdLittleGarbage makes the runtime collect garbage earlier than it would, where the heap is large or little is allocated, from now
// on and as long as the process lives, unless the environment says when (GOGC).
func holdLittleGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &pacer{percent: 100, read: readHeap}
	afterEachCollection(p.adapt)
	go func() {
		for range time.Tick(pacePeriod) {
			p.adapt()
		}
	}()
}

// pacer adapts how much garbage may lie around to how fast it is made, and to what collections cost.
type pacer struct {
	read func() heap

	mu      sync.Mutex // guards the fields below
	last    heap
	rate    float64 // bytes a second that are allocated; falls by half in a period
	percent int     // as the runtime has it
}

// heap is what is known of it at a time.
type heap struct {
	at              time.Time
	allocated, live uint64  // bytes, of all time and after the last collection
	collections     uint64  // of all time
	collecting      float64 // seconds of processors that they took
}

func readHeap() heap {
	figures := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(figures)
	return heap{
		at: time.Now(), allocated: figures[0].Value.Uint64(), live: figures[1].Value.Uint64(), collections: figures[2].Value.Uint64(),
		collecting: figures[3].Value.Float64() - figures[4].Value.Float64(),
	}
}

// adapt looks at the heap, and tells the runtime where that makes a difference.
func (p *pacer) adapt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.read()
	want := gcPercent(now.live, p.headroomLocked(now), leastHeadroom())
	if 8*max(want-p.percent, p.percent-want) > p.percent {
		p.percent = want
		debug.SetGCPercent(want)
	}
}

// headroomLocked is how much is allocated while collections, each after so much, take their share of a processor.
func (p *pacer) headroomLocked(now heap) float64 {
	passed := max(now.at.Sub(p.last.at), time.Millisecond).Seconds()
	p.rate = max(float64(now.allocated-p.last.allocated)/passed, p.rate*math.Exp2(-passed/pacePeriod.Seconds()))
	p.last = now
	each := now.collecting / float64(max(now.collections, 1))
	return p.rate * each / collectingShare
}

// leastHeadroom is headroomLeast, or what it is in a process with etcd.
func leastHeadroom() float64 {
	if holdsEtcd.Load() {
		return headroomWithEtcd
	}
	return headroomLeast
}

// gcPercent is how much garbage there may be beside what is live: enough bytes, where that is little, and while there is much work
// headroomShare of what is live, or busy bytes where that is more.
func gcPercent(live uint64, enough, busy float64) int {
	most := max(headroomShare*float64(live), busy)
	least := max(quietShare*float64(live), quietLeast)
	headroom := min(max(enough, least), most)
	return int(min(math.Ceil(100*headroom/max(float64(live), 1)), headroomMost))
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
	// departedWorth is about what a watch leaves behind when it ends. It counts as if it were allocated then: leaving takes little.
	departedWorth = 12 << 10
)

// giveMemoryBackAtRest returns garbage to the system now, and each time that the program comes to rest after it allocated much,
// as it does for thousands of watches that are opened, or after many have ended: the runtime would hold it for long. departed is how many
// have. Until ctx ends.
func giveMemoryBackAtRest(ctx context.Context, departed func() uint64) {
	giveMemoryBack()
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	read := func() (allocated, live uint64) {
		metrics.Read(heap)
		return heap[0].Value.Uint64() + departed()*departedWorth, heap[1].Value.Uint64()
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
