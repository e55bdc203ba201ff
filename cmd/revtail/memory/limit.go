package memory

import (
	"math"
	"os"
	"runtime/debug"
)

// limitShare is the share of the limit of the cgroup for the memory of the runtime. The rest is for what the runtime does not count: the
// database of etcd in memory, and the buffers of sockets.
const limitShare = 0.9

// SetLimit sets the memory limit of the runtime from the limits of the cgroups of this process, unless GOMEMLIMIT does. The
// runtime then collects garbage more often near the limit.
func SetLimit() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := cgroupLimit(os.DirFS("/")); limit > 0 {
		debug.SetMemoryLimit(int64(limitShare * float64(limit)))
	}
}

// Limit returns the memory limit of the runtime, in bytes; zero: there is none.
func Limit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return 0
}
