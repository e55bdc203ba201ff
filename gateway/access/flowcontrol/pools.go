package flowcontrol

import (
	"log/slog"
	"time"
)

// Limits are the seats of the pools whose size an operator chooses.
type Limits struct {
	Requests       int   // in flight; zero: no limit
	Writes         int   // in flight to etcd; zero: no limit
	Watches        int   // open; zero: no limit
	WatchesPerUser int   // zero: no limit
	Memory         int64 // of the process, in bytes, with which pools of bytes are smaller; zero: no limit
}

const (
	// maxKeyRanges is how many different ranges of keys can be watched. Each costs a watch of etcd and some 100 KB; a thousand idle ones
	// cost 6 % of a processor, and one user gets no more than these.
	maxKeyRanges = 2000
	// maxKeyRangeBytes is how many bytes of JSON these ranges can hold.
	maxKeyRangeBytes = 1 << 30
	// maxResponseBytes is how many bytes the responses that are being made or sent can hold, and as many the forms that are kept for later ones.
	maxResponseBytes = 256 << 20
	// keyRangePart and responsePart are which part of the memory limit of the process both can hold: a half, an eighth.
	keyRangePart = 2
	responsePart = 8
	// maxWait is how long a request waits for seats.
	maxWait = 10 * time.Second
)

// Pools are the pools of a gateway. The zero value has no limits.
type Pools struct {
	Requests      *Pool // requests in flight, without watches and long polls
	Writes        *Pool // writes in flight to etcd
	Watches       *Pool // open watches and long polls
	KeyRanges     *Pool // ranges of keys that are watched
	KeyRangeBytes *Pool // bytes in their caches
	ResponseBytes *Pool // bytes of responses that are being made or sent
}

// part returns a part of the memory limit, but at most so many bytes.
func (l Limits) part(part, most int64) int64 {
	if l.Memory == 0 {
		return most
	}
	return min(l.Memory/part, most)
}

// FormBytes returns how many bytes the forms of objects that are kept for later responses can hold.
func (l Limits) FormBytes() int64 { return l.part(responsePart, maxResponseBytes) }

// NewPools returns the pools of a gateway.
func NewPools(limits Limits, logger *slog.Logger) *Pools {
	return &Pools{
		Requests: NewPool(Config{Resource: "requests", Title: "requests at the same time", Seats: int64(limits.Requests), MaxWait: maxWait, Logger: logger}),
		Writes:   NewPool(Config{Resource: "writes", Title: "writes at the same time", Seats: int64(limits.Writes), MaxWait: maxWait, Logger: logger}),
		Watches: NewPool(Config{
			Resource: "watches", Title: "open watches", Seats: int64(limits.Watches), PerFlow: int64(limits.WatchesPerUser), Logger: logger,
		}),
		KeyRanges: NewPool(Config{
			Resource: "key_ranges", Title: "different prefixes and keys that are watched", Hint: "watch a prefix that holds several of them",
			Seats: maxKeyRanges, Logger: logger,
		}),
		KeyRangeBytes: NewPool(Config{
			Resource: "key_range_bytes", Title: "bytes in the prefixes and keys that are watched", Hint: "watch a part of them", Seats: limits.part(keyRangePart, maxKeyRangeBytes), Logger: logger,
		}),
		ResponseBytes: NewPool(Config{
			Resource: "response_bytes", Title: "bytes in responses at the same time", Hint: "ask for less, with limit= or, at /v1/keys, keysOnly=1",
			Seats: limits.part(responsePart, maxResponseBytes), MaxWait: maxWait, Logger: logger,
		}),
	}
}

// All returns the pools.
func (p *Pools) All() []*Pool {
	return []*Pool{p.Requests, p.Writes, p.Watches, p.KeyRanges, p.KeyRangeBytes, p.ResponseBytes}
}

// Resources are the values of Config.Resource of all pools.
var Resources = func() (names []string) {
	for _, p := range NewPools(Limits{}, nil).All() {
		names = append(names, p.config.Resource)
	}
	return names
}()
