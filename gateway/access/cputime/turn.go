package cputime

import "time"

// Turn is the right to work on one processor, which Continue takes and End gives back. The zero value never waits, and counts nothing.
// One goroutine uses a turn. While it waits for anything but Continue, such as a client or a lock, it must not hold the turn.
type Turn struct {
	account *Account
	began   time.Time // zero: not begun
	bytes   int       // since the clock was read last
}

// clockBytes is how many bytes ContinueBytes counts before it reads the clock again: a selector looks at them within 10 µs, and YAML of them takes 2 ms.
const clockBytes = 16 << 10

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

// ContinueBytes is Continue before work on n bytes that takes at most about 0.1 µs for each. It reads the clock once in many bytes, not each time.
func (t *Turn) ContinueBytes(n int) error {
	if t.bytes += n; t.bytes < clockBytes && !t.began.IsZero() {
		return nil
	}
	t.bytes = 0
	return t.Continue()
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
