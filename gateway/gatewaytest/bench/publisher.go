package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// publisher publishes events.
type publisher interface {
	// publish returns when the i-th event of a run is acknowledged, with its revision. It may be called concurrently.
	publish(ctx context.Context, i int) (revision int64, err error)
	// revision is the newest one: the next event has the one after it.
	revision(ctx context.Context) (int64, error)
}

// load says which events are published.
type load struct {
	events int
	rate   float64 // events a second; zero: as fast as the last watcher receives them
	ahead  int     // at saturation, by how many events the last watcher may be behind; zero: ahead
}

const (
	// writers is the number of events without an acknowledgement.
	writers = 64
	// ahead is the usual number of events by which the last watcher may be behind, at saturation. A greater one would fill buffers of the
	// kernel, and not serve clients.
	ahead = 128
)

// publishAll publishes a load, and returns the revisions of the events when all are acknowledged.
func publishAll(ctx context.Context, p publisher, t *tracker, l load) ([]int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	revisions := make([]int64, l.events)
	return revisions, eachOf(indices(l.events), writers, func(i int) error {
		err := l.await(ctx, t, i)
		if err == nil {
			revisions[i], err = p.publish(ctx, i)
		}
		if err != nil {
			cancel() // the waiting ones
			return fmt.Errorf("event %d: %w", i, err)
		}
		t.ack(revisions[i])
		return nil
	})
}

// await waits until the i-th event is due.
func (l load) await(ctx context.Context, t *tracker, i int) error {
	if l.rate == 0 {
		return t.reach(ctx, int64(i-cmp.Or(l.ahead, ahead)))
	}
	return program.Pause(ctx, time.Until(t.start.Add(time.Duration(float64(i)/l.rate*float64(time.Second)))))
}
