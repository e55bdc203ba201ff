package top

import "sync"

// group waits for goroutines. A panic of one continues in Wait, because the terminal must be restored before the process ends.
type group struct {
	running sync.WaitGroup
	mu      sync.Mutex // guards the field below
	failure any
}

func (g *group) Go(f func()) {
	g.running.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				g.mu.Lock()
				g.failure = p
				g.mu.Unlock()
			}
		}()
		f()
	})
}

func (g *group) Wait() {
	g.running.Wait()
	if g.failure != nil {
		panic(g.failure)
	}
}
