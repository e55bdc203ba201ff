package flowcontrol

import (
	"fmt"
	"math"
	"time"
)

// The reasons of rejections, as labels of metrics.
const (
	RejectedLimit     = "limit"      // the flow has as many seats as any flow may have
	RejectedShare     = "share"      // the flow has a quarter or more, and less than half of all seats is free
	RejectedFull      = "full"       // no seat is free but those for flows that hold none
	RejectedTimeout   = "timeout"    // no seat became free in time
	RejectedQueueFull = "queue_full" // too many requests of the flow wait
)

// reasons are all reasons, with what they mean to a client.
var reasons = map[string]string{
	RejectedLimit:     "you have as many as one user may have",
	RejectedShare:     "you have your share of them, and the rest is for others",
	RejectedFull:      "none is free",
	RejectedTimeout:   "none became free in time",
	RejectedQueueFull: "too many of your requests wait for one",
}

// reasonOf returns why a flow gets no seats at a level.
func reasonOf(l level) string {
	if l == surplus {
		return RejectedShare
	}
	return RejectedFull
}

// RejectedError is the error of a request that gets no seats. Nothing was done for it.
type RejectedError struct {
	Resource   string        // Config.Resource
	Reason     string        // one of the reasons above
	RetryAfter time.Duration // when to try again, from a second to a minute

	title, hint, user string
	held              int64
	waiting           int
	log               bool
}

func (e *RejectedError) Error() string {
	text := fmt.Sprintf("too many %s: %s", e.title, reasons[e.Reason])
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

const (
	// minRetryAfter and maxRetryAfter bound RejectedError.RetryAfter.
	minRetryAfter = time.Second
	maxRetryAfter = time.Minute
	// defaultRetryAfter is what a client is told while no request has ended lately, and at least where requests do not wait, because these
	// hold their seats for long.
	defaultRetryAfter = 5 * time.Second
	// logFlowEvery and logEvery are the shortest times between two lines of the log, about one flow and about all.
	logFlowEvery, logEvery = time.Minute, time.Second
)

// rejectLocked counts a rejection of a flow, and returns its error.
func (p *Pool) rejectLocked(f *flow, reason string) *RejectedError {
	now := time.Now()
	p.rejected[reason]++
	f.rejected++
	f.reason, f.rejectedAt = reason, now
	err := &RejectedError{
		Resource: p.config.Resource, Reason: reason, RetryAfter: p.retryAfterLocked(f, now),
		title: p.config.Title, hint: p.config.Hint, user: f.user, held: f.held, waiting: f.queue.Len(),
	}
	if p.config.Logger != nil && now.Sub(f.logged) >= logFlowEvery && now.Sub(p.logged) >= logEvery {
		f.logged, p.logged, err.log = now, now, true
	}
	return err
}

// log writes that a user is held back, for one rejection of many.
func (p *Pool) log(e *RejectedError) {
	if e.log {
		p.config.Logger.Warn("a user is held back", "user", e.user, "resource", e.Resource, "reason", e.Reason, "held", e.held,
			"waiting", e.waiting, "seats", p.config.Seats, "retryAfter", e.RetryAfter.String())
	}
}

// retryAfterLocked estimates when the next request of a flow would be dispatched, if as many requests end as lately, and flows that wait
// have turns.
func (p *Pool) retryAfterLocked(f *flow, now time.Time) time.Duration {
	perSecond := p.ended.perSecond(now)
	if perSecond == 0 {
		return defaultRetryAfter
	}
	flows := 0
	for l := range p.turns {
		flows += p.turns[l].Len()
	}
	seconds := math.Ceil(float64((f.queue.Len()+1)*max(1, flows)) / perSecond)
	least := minRetryAfter
	if p.config.MaxWait == 0 {
		least = defaultRetryAfter
	}
	return max(least, time.Duration(min(seconds, maxRetryAfter.Seconds()))*time.Second)
}

// rate measures how often something happens, over periods of a second or longer.
type rate struct {
	since time.Time // the start of the period
	n     int       // in the period
	last  float64   // per second, in the period before
}

func (r *rate) add(now time.Time) {
	r.n++
	if elapsed := now.Sub(r.since); elapsed >= time.Second {
		r.last = float64(r.n) / elapsed.Seconds()
		r.since, r.n = now, 0
	}
}

// perSecond returns the rate of the last whole period, or that since then if it is longer ago than a second.
func (r *rate) perSecond(now time.Time) float64 {
	if elapsed := now.Sub(r.since); elapsed > time.Second && !r.since.IsZero() {
		return float64(r.n) / elapsed.Seconds()
	}
	return r.last
}
