package serve

import (
	"context"
	"sync"
)

// group runs goroutines until Stop.
type group struct {
	ctx     context.Context // of the goroutines
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  chan error // holds the first error
}

func newGroup(ctx context.Context) *group {
	g := &group{failed: make(chan error, 1)}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Go runs f until its context ends. An error before that goes to Failed.
func (g *group) Go(f func(context.Context) error) {
	g.running.Go(func() {
		err := f(g.ctx)
		if err == nil || g.ctx.Err() != nil {
			return
		}
		select {
		case g.failed <- err:
		default:
		}
	})
}

// Failed receives the first error of a goroutine.
func (g *group) Failed() <-chan error { return g.failed }

// Stop ends the goroutines and waits for them.
func (g *group) Stop() {
	g.cancel()
	g.running.Wait()
}
