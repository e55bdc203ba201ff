package gateway

import (
	"sync"
	"time"
)

// watchdog cuts a stream when one of its writes takes longer than a limit. A write costs it no timer: the one that a write has
// started runs on, and finds out itself what has happened meanwhile.
type watchdog struct {
	limit time.Duration
	cut   func() // called at most once, and never after close

	mu      sync.Mutex // guards the fields below
	began   time.Time  // of the write under way; zero: there is none
	timer   *time.Timer
	running bool // the timer is
	done    bool
}

func newWatchdog(limit time.Duration, cut func()) *watchdog { return &watchdog{limit: limit, cut: cut} }

func (d *watchdog) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Now()
	if !d.running {
		d.startLocked(d.limit)
	}
}

func (d *watchdog) startLocked(after time.Duration) {
	d.running = true
	if d.timer == nil {
		d.timer = time.AfterFunc(after, d.look)
	} else {
		d.timer.Reset(after)
	}
}

func (d *watchdog) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Time{}
}

func (d *watchdog) look() {
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

// hasCut tells whether it has cut the stream; not to be asked after close.
func (d *watchdog) hasCut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// close may wait for cut, and nothing is called after it. Nor does the timer hold for its whole time what cut holds: the answer.
func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
