package cputime

import "time"

// Turn is the right to work on one processor, which Continue takes and End gives back. The zero value never waits, and counts nothing.
// One goroutine uses a turn. While it waits for anything but Continue, such as a client or a lock, it must not hold the turn.
type Turn struct {
	account *Account
	began   time.Time // zero: not begun
}

// Continue is called before each piece of work, of a few milliseconds at most. It begins the turn, and waits until the user may have one.
// If the turn has lasted for long and others wait, it lets them go first. The error is an *OverloadError; the turn has ended then.
func (t *Turn) Continue() error {
	if t.account == nil {
		return nil
	}
	if !t.began.IsZero() {
		if t.account.scheduler.now().Sub(t.began) < slice {
			return nil
		}
		t.End()
	}
	if err := t.account.begin(); err != nil {
		return err
	}
	t.began = t.account.scheduler.now()
	return nil
}

// End ends the turn, if it has begun, and counts its time. Continue begins another one.
func (t *Turn) End() {
	if t.began.IsZero() {
		return
	}
	s := t.account.scheduler
	s.mu.Lock()
	t.account.endLocked(t.began)
	s.mu.Unlock()
	t.began = time.Time{}
}
