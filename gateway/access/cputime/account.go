package cputime

import (
	"time"
)

// Account is the processor time of one user. A nil Account has turns that never wait, and counts nothing.
type Account struct {
	scheduler *Scheduler
	user      string

	// The lock of the scheduler guards the fields below.
	holders int
	time    time.Duration // on the clock of the scheduler: the account with the least time is next
	used    time.Duration
	refused uint64
	queue   []*waiter // in order
	late    time.Time // since when the queue has not been empty
	index   int       // in Scheduler.waiting
}

// waiter is a turn that waits.
type waiter struct {
	since time.Time
	begin chan error // capacity 1; gets nil when the turn begins
}

// Release gives the account back. Its turns must have ended.
func (a *Account) Release() {
	if a == nil {
		return
	}
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	if a.holders--; a.holders == 0 {
		delete(a.scheduler.byUser, a.user)
	}
}

// Turn returns a turn that has not begun.
func (a *Account) Turn() Turn { return Turn{account: a} }

// Charge counts work that was done without a turn.
func (a *Account) Charge(took time.Duration) {
	if a == nil || took == 0 {
		return
	}
	a.scheduler.mu.Lock()
	defer a.scheduler.mu.Unlock()
	a.chargeLocked(took)
}

func (a *Account) chargeLocked(took time.Duration) {
	a.used += took
	a.scheduler.used += took
	a.time += took
	if a.index != notWaiting {
		a.scheduler.waiting.fix(a)
	}
}

// begin waits for a turn. The error is an *OverloadError.
func (a *Account) begin() error {
	s := a.scheduler
	s.mu.Lock()
	a.joinLocked()
	if s.free > 0 { // nobody waits
		s.free--
		s.clock = max(s.clock, a.time)
		s.mu.Unlock()
		return nil
	}
	w := a.waitLocked()
	s.mu.Unlock()
	return <-w.begin
}

// waitLocked adds a turn to the queue.
func (a *Account) waitLocked() *waiter {
	w := &waiter{since: a.scheduler.now(), begin: make(chan error, 1)}
	a.queue = append(a.queue, w)
	a.scheduler.waiters++
	if len(a.queue) == 1 {
		a.late = w.since
		a.scheduler.waiting.add(a)
	}
	return w
}

// joinLocked sets the time of an account none of whose turns wait. The user gets no credit for the time in which it has used nothing, and
// pays for little of what it has used while nobody else waited.
func (a *Account) joinLocked() {
	if a.index == notWaiting {
		a.time = min(max(a.time, a.scheduler.clock), a.scheduler.clock+maxDebt)
	}
}

// takeLocked removes the first turn from the queue.
func (a *Account) takeLocked() *waiter {
	w := a.queue[0]
	a.queue[0] = nil
	a.scheduler.waiters--
	if a.queue = a.queue[1:]; len(a.queue) == 0 {
		a.queue = nil
		a.scheduler.waiting.remove(a)
	}
	return w
}

// overloadedLocked reports whether the user asks for too much.
func (a *Account) overloadedLocked() bool {
	now := a.scheduler.now()
	return now.Sub(a.late) > busyLimit && now.Sub(a.queue[0].since) > waitLimit
}

// refuseLocked refuses the first turn. The queue is not empty afterwards, so that every refusal is followed by a turn that runs: the queue
// gets shorter by half in the time of one round.
func (a *Account) refuseLocked() {
	a.refused++
	a.scheduler.refused++
	w := a.takeLocked()
	w.begin <- &OverloadError{User: a.user, Wait: a.scheduler.now().Sub(w.since)}
}

// endLocked ends a turn.
func (a *Account) endLocked(began time.Time) {
	a.chargeLocked(a.scheduler.now().Sub(began))
	a.scheduler.free++
	a.scheduler.nextLocked()
}

func (a *Account) usageLocked() Usage {
	u := Usage{User: a.user, Used: a.used.Seconds(), Waiting: len(a.queue), Refused: a.refused}
	if u.Waiting > 0 {
		u.Late = a.scheduler.now().Sub(a.late).Seconds()
	}
	return u
}
