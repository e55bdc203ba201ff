package memory

import (
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
	// maxHeadroomShare is the share of the live heap that garbage may add under load, and minHeadroom the garbage that is always
	// allowed. Most of a large heap is documents without pointers, which a collection skips; so collecting more often is cheaper
	// than holding twice their size. Collecting a small heap for a few megabytes is not worth it.
	maxHeadroomShare = 1.0 / 3
	minHeadroom      = 32 << 20
	// minHeadroomWithEtcd replaces minHeadroom when etcd runs in this process, because a write then makes twice as much garbage,
	// and a separate etcd process would hold as much garbage of its own.
	minHeadroomWithEtcd = 128 << 20
	// maxGCPercent bounds the garbage beside a small live heap: a process that has just started does not need 32 MiB.
	maxGCPercent = 400

	// gcShare is the share of one processor that collections may take. Below it, less garbage is held at no noticeable cost.
	gcShare = 1.0 / 50
	// idleHeadroomShare of the live heap, and idleHeadroom bytes, are never worth a collection. GOGC has no finer share.
	idleHeadroomShare = 1.0 / 100
	idleHeadroom      = 1 << 20
	// pacePeriod is the time between two readings of the heap; each collection adds a reading.
	pacePeriod = 500 * time.Millisecond
)

// embedsEtcd is set when etcd runs in this process.
var embedsEtcd atomic.Bool

// EmbedEtcd makes the pacer allow more garbage, because etcd runs in this process.
func EmbedEtcd() { embedsEtcd.Store(true) }

// StartPacer adapts GOGC to the load until the process exits, unless the environment sets GOGC.
func StartPacer() {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &pacer{percent: 100, read: readHeap}
	afterEachGC(p.adapt)
	go func() {
		for range time.Tick(pacePeriod) {
			p.adapt()
		}
	}()
}

// pacer sets GOGC by the allocation rate and by the cost of a collection.
type pacer struct {
	read func() heap

	mu      sync.Mutex // guards the fields below
	last    heap
	rate    float64 // allocated bytes per second; halves in an idle period
	percent int     // GOGC
}

// heap is one reading of the runtime's metrics.
type heap struct {
	at          time.Time
	allocated   uint64  // bytes since the start of the process
	live        uint64  // bytes after the last collection
	free        uint64  // bytes that no object uses, and that the system does not have back
	collections uint64  // since the start of the process
	gcSeconds   float64 // processor time of the collections, without idle time
}

func readHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	return heap{
		at: time.Now(), allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(), collections: samples[2].Value.Uint64(),
		gcSeconds: samples[3].Value.Float64() - samples[4].Value.Float64(), free: samples[5].Value.Uint64(),
	}
}

// adapt reads the heap and sets GOGC if it changes by more than an eighth.
func (p *pacer) adapt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.read()
	least := float64(minHeadroom)
	if embedsEtcd.Load() {
		least = minHeadroomWithEtcd
	}
	want := gcPercent(now.live, p.headroomLocked(now), least)
	if 8*max(want-p.percent, p.percent-want) > p.percent {
		p.percent = want
		debug.SetGCPercent(want)
	}
}

// headroomLocked is the number of bytes to allocate between two collections so that collections take gcShare of a processor.
func (p *pacer) headroomLocked(now heap) float64 {
	passed := max(now.at.Sub(p.last.at), time.Millisecond).Seconds()
	p.rate = max(float64(now.allocated-p.last.allocated)/passed, p.rate*math.Exp2(-passed/pacePeriod.Seconds()))
	p.last = now
	perCollection := now.gcSeconds / float64(max(now.collections, 1))
	return p.rate * perCollection / gcShare
}

// gcPercent is the GOGC for a live heap. It allows wanted bytes of garbage, but at least the idle headroom, and at most the larger
// one of least bytes and maxHeadroomShare.
func gcPercent(live uint64, wanted, least float64) int {
	upper := max(maxHeadroomShare*float64(live), least)
	lower := max(idleHeadroomShare*float64(live), idleHeadroom)
	headroom := min(max(wanted, lower), upper)
	return int(min(math.Ceil(100*headroom/max(float64(live), 1)), maxGCPercent))
}

// afterEachGC calls f after each garbage collection until the process exits, never twice at once.
func afterEachGC(f func()) {
	type sentinel struct{ _ [16]byte } // large enough to stay out of the tiny allocator, whose blocks live longer
	var watch func()
	watch = func() {
		runtime.AddCleanup(&sentinel{}, func(f func()) {
			f()
			watch()
		}, f)
	}
	watch()
}
