package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// streamsPerConn is how many watches a connection has.
const streamsPerConn = 100

// fleet are the watchers.
type fleet struct {
	servers *servers
	start   int64 // the revision after which the watchers begin
	wide    bool  // see options
	conns   []*conn

	opened   atomic.Int64 // number of open watches
	failures atomic.Int64 // number of connections that have ended early
	reason   atomic.Pointer[error]
	event    atomic.Pointer[event] // that is being delivered; nil: none
	leaving  atomic.Bool
	running  sync.WaitGroup
}

// event is a change that all watchers wait for.
type event struct {
	after   int64        // the newest revision before it
	missing atomic.Int64 // number of watchers that do not have it
	done    chan struct{}
	at      time.Time // when the last watcher had it; read after done
}

// seen is called by each watcher for each event.
func (f *fleet) seen(revision int64) {
	if e := f.event.Load(); e != nil && revision > e.after && e.missing.Add(-1) == 0 {
		e.at = time.Now()
		close(e.done)
	}
}

// openFleet opens watches at a rate, and waits until all are open.
func openFleet(ctx context.Context, s *servers, watchers int, rate float64, wide bool) (f *fleet, took time.Duration, err error) {
	f = &fleet{servers: s, wide: wide}
	if f.start, err = s.revision(ctx); err != nil {
		return f, 0, err
	}
	began := time.Now()
	for left := watchers; left > 0; left -= streamsPerConn {
		if rate > 0 {
			if err = program.Pause(ctx, time.Until(began.Add(time.Duration(float64(watchers-left)/rate*float64(time.Second))))); err != nil {
				return f, 0, err
			}
		}
		var c *conn
		if c, err = dial(ctx, f, min(left, streamsPerConn)); err != nil {
			return f, 0, err
		}
		f.conns = append(f.conns, c)
		f.running.Go(func() { f.ended(c.read()) })
		if rate == 0 {
			if err := f.awaitOpen(ctx, len(f.conns)*streamsPerConn-4*streamsPerConn); err != nil {
				return f, 0, err
			}
		}
	}
	err = f.awaitOpen(ctx, watchers)
	return f, time.Since(began), err
}

// ended is called when a connection has ended.
func (f *fleet) ended(err error) {
	if !f.leaving.Load() {
		f.failures.Add(1)
		f.reason.CompareAndSwap(nil, &err)
	}
}

// err returns why a connection has failed; nil: none has.
func (f *fleet) err() error {
	if reason := f.reason.Load(); reason != nil {
		return fmt.Errorf("%d connections failed: %w", f.failures.Load(), *reason)
	}
	return nil
}

// awaitOpen waits until a number of watches are open.
func (f *fleet) awaitOpen(ctx context.Context, watchers int) error {
	for began := time.Now(); f.opened.Load() < int64(watchers); {
		if err := f.err(); err != nil {
			return err
		}
		if time.Since(began) > program.Patience {
			return fmt.Errorf("%d of %d watches are open after %v", f.opened.Load(), watchers, program.Patience)
		}
		if err := program.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// churn makes a share of the watchers leave and come back in each second, until ctx ends.
func (f *fleet) churn(ctx context.Context, share float64) error {
	const every = 20 * time.Millisecond
	due := 0.0
	for program.Pause(ctx, every) == nil {
		for due += share * float64(len(f.conns)*streamsPerConn) * every.Seconds(); due >= 1; due-- {
			c := f.conns[rand.N(len(f.conns))]
			if err := c.leave(rand.N(len(c.slots))); err != nil {
				return err
			}
		}
	}
	return nil
}

// check checks that each watcher has got a number of events, of which the last one has a revision. The watchers have checked their order.
func (f *fleet) check(events int, last int64) error {
	wrong := 0
	for _, c := range f.conns {
		c.mu.Lock()
		for _, s := range c.slots {
			if int(s.events) != events || s.last != last {
				wrong++
			}
		}
		c.mu.Unlock()
	}
	if wrong > 0 {
		return fmt.Errorf("%d watchers did not get each of %d events once", wrong, events)
	}
	return f.err()
}

// close ends all watches.
func (f *fleet) close() {
	f.leaving.Store(true)
	for _, c := range f.conns {
		_ = c.out.Close() // an error does not matter
	}
	f.running.Wait()
}

var errLate = errors.New("an event did not reach every watcher")

// deliver writes one event, and returns the time until the last watcher has it.
func (f *fleet) deliver(ctx context.Context, i, version int) (took time.Duration, revision int64, err error) {
	before, err := f.servers.revision(ctx)
	if err != nil {
		return 0, 0, err
	}
	e := &event{after: before, done: make(chan struct{})}
	for _, c := range f.conns {
		e.missing.Add(int64(len(c.slots)))
	}
	f.event.Store(e)
	began := time.Now()
	if revision, err = f.servers.put(ctx, i, version); err != nil {
		return 0, 0, err
	}
	select {
	case <-e.done:
		return e.at.Sub(began), revision, nil
	case <-time.After(program.Patience):
		if err := f.err(); err != nil {
			return 0, 0, err
		}
		return 0, 0, fmt.Errorf("%w: %d are without it", errLate, e.missing.Load())
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}
