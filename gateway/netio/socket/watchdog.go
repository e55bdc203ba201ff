package socket

import (
	"sync"
	"time"
)

// Watchdog cuts a stream when one of its writes takes longer than a limit. A write costs it no timer: the one that a write has
// started runs on, and finds out itself what has happened meanwhile.
type Watchdog struct {
	limit time.Duration
	cut   func() // called at most once, and never after Close

	mu      sync.Mutex // guards the fields below
	began   time.Time  // of the write under way; zero: there is none
	timer   *time.Timer
	running bool // the timer is
	done    bool
}

// NewWatchdog returns a watchdog that calls cut when a write takes longer than limit.
func NewWatchdog(limit time.Duration, cut func()) *Watchdog { return &Watchdog{limit: limit, cut: cut} }

// Begin is called before each write.
func (d *Watchdog) Begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Now()
	if !d.running {
		d.startLocked(d.limit)
	}
}

func (d *Watchdog) startLocked(after time.Duration) {
	d.running = true
	if d.timer == nil {
		d.timer = time.AfterFunc(after, d.look)
	} else {
		d.timer.Reset(after)
	}
}

// End is called after each write.
func (d *Watchdog) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Time{}
}

func (d *Watchdog) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = false
	if d.done || d.began.IsZero() {
		return
	}
	if left := d.limit - time.Since(d.began); left > 0 {
		d.startLocked(left)
		return
	}
	d.done = true
	d.cut()
}

// Fired reports whether it has cut the stream. It must not be called after Close.
func (d *Watchdog) Fired() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// Close may wait for cut, and nothing is called after it. Nor does the timer hold for its whole time what cut holds: the answer.
func (d *Watchdog) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
