package socket

import (
	"errors"
	"os"
	"sync"
	"time"
)

// WriteLimit limits the time of each write to a response of net/http. Over HTTP/1.1 a write has a deadline. Over HTTP/2 a deadline is a
// message to the connection and a timer, and would end a stream that has nothing to write: there a watchdog resets the stream.
type WriteLimit struct {
	response WriteDeadliner
	limit    time.Duration
	watchdog *watchdog // nil: deadlines
}

// NewWriteLimit returns a limit for one response. Close frees it.
func NewWriteLimit(response WriteDeadliner, limit time.Duration, protoMajor int) *WriteLimit {
	l := &WriteLimit{response: response, limit: limit}
	if protoMajor > 1 {
		l.watchdog = newWatchdog(limit, func() { _ = response.SetWriteDeadline(time.Unix(1, 0)) }) // resets the stream
	}
	return l
}

// Extend gives what net/http has collected, or writes by itself, as much time as a write.
func (l *WriteLimit) Extend() error {
	if l.watchdog != nil {
		return nil
	}
	return l.response.SetWriteDeadline(time.Now().Add(l.limit))
}

// Begin is called before each write. It fails if the response has no deadlines.
func (l *WriteLimit) Begin() error {
	if l.watchdog != nil {
		l.watchdog.begin()
	}
	return l.Extend()
}

// End is called after each write with its error. It returns the error, as ErrStalled if the limit was the reason.
func (l *WriteLimit) End(err error) error {
	if l.watchdog != nil {
		l.watchdog.end()
	}
	if err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || l.watchdog != nil && l.watchdog.fired()) {
		return stalled(err)
	}
	return err
}

// Close must be called after the last write, and before the handler returns.
func (l *WriteLimit) Close() {
	if l.watchdog != nil {
		l.watchdog.close()
	}
}

// watchdog cuts a stream when one of its writes takes longer than a limit. A write starts no timer while one runs: that timer checks
// for itself which write is under way.
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
		d.timer = time.AfterFunc(after, d.check)
	} else {
		d.timer.Reset(after)
	}
}

func (d *watchdog) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Time{}
}

func (d *watchdog) check() {
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

// fired reports whether the watchdog has cut the stream. It must not be called after close.
func (d *watchdog) fired() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// close waits for cut if it runs. It stops the timer, which would keep the response in memory until it fires.
func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
