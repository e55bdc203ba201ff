package flowcontrol

import (
	"container/list"
	"context"
	"time"
)

// maxQueue is how many requests of one flow wait at most.
const maxQueue = 4096

// waiter is a request that waits for seats.
type waiter struct {
	flow  *flow
	n     int64
	place *list.Element // in flow.queue
	since time.Time
	seats Seats         // valid when ready is closed
	ready chan struct{} // closed when the seats are taken
}

func (p *Pool) enqueueLocked(f *flow, n int64) *waiter {
	w := &waiter{flow: f, n: n, since: time.Now(), ready: make(chan struct{})}
	w.place = f.queue.PushBack(w)
	p.waiting++
	p.placeLocked(f)
	return w
}

// wait waits until a waiter has its seats.
func (p *Pool) wait(ctx context.Context, w *waiter) (Seats, error) {
	timer := time.NewTimer(p.config.MaxWait)
	defer timer.Stop()
	var gone error
	select {
	case <-w.ready:
		return w.seats, nil
	case <-ctx.Done():
		gone = ctx.Err()
	case <-timer.C:
	}
	p.mu.Lock()
	select {
	case <-w.ready: // meanwhile
		p.mu.Unlock()
		return w.seats, nil
	default:
	}
	p.dequeueLocked(w)
	p.placeLocked(w.flow)
	p.dispatchLocked() // those behind it may need less
	if gone != nil {
		p.mu.Unlock()
		return Seats{}, gone
	}
	err := p.rejectLocked(w.flow, RejectedTimeout)
	p.mu.Unlock()
	p.log(err)
	return Seats{}, err
}

func (p *Pool) dequeueLocked(w *waiter) {
	w.flow.queue.Remove(w.place)
	p.waiting--
}

// next returns the oldest request of a flow that waits.
func (f *flow) next() *waiter { return f.queue.Front().Value.(*waiter) }

// placeLocked puts a flow at the end of the turns of its level if it waits and is not there yet.
func (p *Pool) placeLocked(f *flow) {
	if f.queue.Len() == 0 {
		p.leaveTurnLocked(f)
		return
	}
	l := p.levelLocked(f, f.next().n)
	if f.turn != nil && f.level == l {
		return
	}
	p.leaveTurnLocked(f)
	f.level, f.turn = l, p.turns[l].PushBack(f)
}

func (p *Pool) leaveTurnLocked(f *flow) {
	if f.turn != nil {
		p.turns[f.level].Remove(f.turn)
		f.turn = nil
	}
}

// dispatchLocked gives the seats that are free to those that wait.
func (p *Pool) dispatchLocked() {
	for l := first; l < levels; {
		turn := p.turns[l].Front()
		if turn == nil || !p.fitsLocked(l, turn.Value.(*flow).next().n) {
			l++
			continue
		}
		f := turn.Value.(*flow)
		w := f.next()
		p.dequeueLocked(w)
		w.seats = p.takeLocked(f, w.n, l)
		p.queued++
		p.waited += time.Since(w.since)
		close(w.ready)
		p.leaveTurnLocked(f)
		p.placeLocked(f) // behind the others
	}
}
