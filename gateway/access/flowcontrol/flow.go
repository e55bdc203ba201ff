package flowcontrol

import (
	"container/list"
	"time"
)

const (
	// minSweep is how many flows a pool remembers at least, also without seats, because most users come again.
	minSweep = 1024
	// rememberRejection is how long a flow that was held back is remembered, for operators.
	rememberRejection = 10 * time.Minute
)

// flow is one user in a pool. The lock of the pool guards its fields.
type flow struct {
	user  string
	held  int64
	refs  int           // Seats that name the flow
	queue list.List     // of *waiter, the oldest first
	level level         // of the oldest
	turn  *list.Element // in Pool.turns; nil: nothing waits

	rejected   uint64
	reason     string    // of the last rejection
	rejectedAt time.Time // the last one
	logged     time.Time
}

// flowLocked returns the flow of a user, which may be a new one.
func (p *Pool) flowLocked(user string) *flow {
	f := p.flows[user]
	if f == nil {
		if len(p.flows) >= p.sweepAt {
			p.sweepLocked(time.Now())
		}
		f = &flow{user: user}
		p.flows[user] = f
	}
	return f
}

// sweepLocked removes flows that hold nothing and wait for nothing. The next sweep is when the number has doubled, so the time for a new
// flow is constant on average.
func (p *Pool) sweepLocked(now time.Time) {
	for _, keepRejected := range []bool{true, false} {
		for user, f := range p.flows {
			recent := f.rejected > 0 && now.Sub(f.rejectedAt) < rememberRejection
			if f.refs == 0 && f.queue.Len() == 0 && !(keepRejected && recent) {
				delete(p.flows, user)
			}
		}
		if len(p.flows) < p.sweepAt/2 {
			break
		}
	}
	p.sweepAt = max(minSweep, 2*len(p.flows))
}
