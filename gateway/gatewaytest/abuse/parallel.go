package abuse

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls f some times on each of some goroutines, until ctx ends, and returns how often it has called it.
func parallel(ctx context.Context, goroutines, times int, f func(i int)) int {
	var running sync.WaitGroup
	var calls atomic.Int64
	for g := range goroutines {
		running.Go(func() {
			for n := 0; n < times && ctx.Err() == nil; n++ {
				f(g*times + n)
				calls.Add(1)
			}
		})
	}
	running.Wait()
	return int(calls.Load())
}
