package socket

import (
	"errors"
	"os"
	"sync"
	"time"
)

// WriteLimit limits the time of each write to a net/http response. Over HTTP/1.1 each write has a deadline. Over HTTP/2 a deadline costs a
// message to the connection and a timer, and would end a stream that has nothing to write; there a watchdog resets the stream.
type WriteLimit struct {
	response WriteDeadliner
	limit    time.Duration
	watchdog *watchdog // nil: deadlines
}

// NewWriteLimit returns a WriteLimit for one response. limit is the longest time of one write, and protoMajor the major version of HTTP.
// The caller calls Close.
func NewWriteLimit(response WriteDeadliner, limit time.Duration, protoMajor int) *WriteLimit {
	l := &WriteLimit{response: response, limit: limit}
	if protoMajor > 1 {
		l.watchdog = newWatchdog(limit, func() { _ = response.SetWriteDeadline(time.Unix(1, 0)) }) // resets the stream
	}
	return l
}

// Extend sets the deadline for bytes that net/http has buffered or writes itself to the time limit from now. Over HTTP/2 it does nothing.
func (l *WriteLimit) Extend() error {
	if l.watchdog != nil {
		return nil
	}
	return l.response.SetWriteDeadline(time.Now().Add(l.limit))
}

// Begin starts the time limit. It is called before each write. It fails if the response does not support deadlines.
func (l *WriteLimit) Begin() error {
	if l.watchdog != nil {
		l.watchdog.begin()
	}
	return l.Extend()
}

// End stops the time limit. It is called after each write with the error of the write, and returns that error, as ErrStalled if the time
// limit was the reason.
func (l *WriteLimit) End(err error) error {
	if l.watchdog != nil {
		l.watchdog.end()
	}
	if err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || l.watchdog != nil && l.watchdog.fired()) {
		return stalled(err)
	}
	return err
}

// Close stops the watchdog. It must be called after the last write, and before the handler returns.
func (l *WriteLimit) Close() {
	if l.watchdog != nil {
		l.watchdog.close()
	}
}

// watchdog calls cut when a write takes longer than limit. A write starts no timer if one is running, because that timer checks which write
// is in progress when it fires.
type watchdog struct {
	limit time.Duration
	cut   func() // resets the stream; called at most once, and never after close

	mu      sync.Mutex // guards the fields below
	began   time.Time  // start of the write in progress; zero: none
	timer   *time.Timer
	running bool // the timer is running
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

// fired reports whether the watchdog has called cut. It must not be called after close.
func (d *watchdog) fired() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// close waits for a running cut, and stops the timer, because a timer keeps the response in memory until it fires.
func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
