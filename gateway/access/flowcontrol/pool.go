package flowcontrol

import (
	"container/list"
	"context"
	"log/slog"
	"math"
	"sync"
	"time"
)

// Config describes a Pool.
type Config struct {
	Resource string        // what the seats are, as a label of metrics
	Title    string        // the same for the reader of an error, as "requests in flight"
	Hint     string        // what a client can do to need less; may be empty
	Seats    int64         // zero: no limit for all flows together
	PerFlow  int64         // seats that one flow may hold, whatever is free; zero: no such limit
	MaxWait  time.Duration // for seats; zero: Acquire does not wait
	Logger   *slog.Logger
}

// Pool is a number of seats that flows share. One rule says whether a flow gets n more of them:
//
//   - the first ones of a flow, which holds none: if they are free;
//   - up to a quarter of all seats: if a quarter of all seats stays free;
//   - beyond a quarter: if half of all seats stays free.
//
// So a user alone can have half. Nobody gets beyond a quarter while another who has less than a quarter is denied anything, and a
// user who holds no seat gets one while fewer than a quarter of the number of seats have been given out as first ones.
//
// Requests that must wait are dispatched in the order of these three lines, those of one line in turns between the flows, and those of one
// flow in their order. Acquire and Release take constant time, also with many flows. A nil Pool has no limits. Its methods may be
// called by any goroutine.
type Pool struct {
	config Config

	mu       sync.Mutex // guards the fields below, and the flows, waiters and Seats of the pool
	used     int64
	waiting  int
	flows    map[string]*flow
	parked   flow              // holds what no user does; not among flows, and not in used
	sweepAt  int               // the number of flows at which idle ones are removed
	turns    [levels]list.List // of *flow: those that wait, by the level of their next request
	ended    rate
	rejected map[string]uint64 // requests, by reason
	waited   time.Duration     // of all requests that were dispatched after they had waited
	queued   uint64            // their number
	logged   time.Time
}

// level is the line of the rule by which a flow gets seats.
type level int

const (
	first level = iota
	fair
	surplus
	levels
)

// NewPool returns a pool whose seats are all free.
func NewPool(c Config) *Pool {
	return &Pool{config: c, flows: make(map[string]*flow), sweepAt: minSweep, rejected: make(map[string]uint64)}
}

// Seats returns how many seats the pool has; zero: no limit.
func (p *Pool) Seats() int64 {
	if p == nil {
		return 0
	}
	return p.config.Seats
}

// Free returns how many seats are neither used nor parked. Without a limit it is a large number.
func (p *Pool) Free() int64 {
	if p.Seats() == 0 {
		return math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config.Seats - p.used - p.parked.held
}

// quarter is the share of a flow.
func (p *Pool) quarter() int64 { return max(1, p.config.Seats/4) }

// levelLocked returns the line of the rule for n more seats of a flow.
func (p *Pool) levelLocked(f *flow, n int64) level {
	switch {
	case f.held == 0:
		return first
	case f.held+n <= p.quarter():
		return fair
	}
	return surplus
}

// fitsLocked reports whether enough seats stay free when a flow gets n at a level.
func (p *Pool) fitsLocked(l level, n int64) bool {
	free := p.config.Seats - p.used - n
	return p.config.Seats == 0 || free >= [levels]int64{first: 0, fair: p.config.Seats / 4, surplus: p.config.Seats / 2}[l]
}

// Acquire takes n seats for a user, and waits for them up to Config.MaxWait. The error is a *RejectedError, or that of ctx. The caller
// calls Release.
func (p *Pool) Acquire(ctx context.Context, user string, n int64) (Seats, error) {
	if p == nil || n == 0 {
		return Seats{}, nil
	}
	p.mu.Lock()
	f := p.flowLocked(user)
	l := p.levelLocked(f, n)
	reason := ""
	switch {
	case p.exceedsLocked(f, n):
		reason = RejectedLimit
	case f.queue.Len() == 0 && p.turns[l].Len() == 0 && p.fitsLocked(l, n):
		seats := p.takeLocked(f, n, l)
		p.mu.Unlock()
		return seats, nil
	case p.config.MaxWait == 0 || p.config.Seats < n:
		reason = reasonOf(l)
	case f.queue.Len() >= maxQueue:
		reason = RejectedQueueFull
	}
	if reason != "" {
		err := p.rejectLocked(f, reason)
		p.mu.Unlock()
		p.log(err)
		return Seats{}, err
	}
	w := p.enqueueLocked(f, n)
	p.mu.Unlock()
	return p.wait(ctx, w)
}

// exceedsLocked reports whether n more seats are more than any flow may hold.
func (p *Pool) exceedsLocked(f *flow, n int64) bool {
	return p.config.PerFlow > 0 && f.held+n > p.config.PerFlow
}

// takeLocked gives n seats to a flow.
func (p *Pool) takeLocked(f *flow, n int64, l level) Seats {
	f.refs++
	p.addLocked(f, n)
	return Seats{pool: p, flow: f, n: n, first: l == first}
}

// addLocked changes the number of seats that a flow holds.
func (p *Pool) addLocked(f *flow, n int64) {
	f.held += n
	if f != &p.parked {
		p.used += n
	}
}
