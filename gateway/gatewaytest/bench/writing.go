package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// write makes the n-th write, as one of the writers, and returns the revision.
type write func(ctx context.Context, n int) (int64, error)

// writing is a server, and clients that write to it: the first one also writes alone.
type writing struct {
	writers []write
	clients []*client // of the writers; empty: they are none
	watch   *fleet    // gets every write; nil: none
	etcd    *etcd
	servers []*program.Process                       // whose cost is measured
	count   func(ctx context.Context) (int64, error) // the number of objects
	adds    bool                                     // each write creates an object
	turn    int                                      // of the next write; only grows
}

// run writes with all writers at once, then with one.
func (w *writing) run(ctx context.Context, d time.Duration) (sample, error) {
	base, err := w.etcd.revision(ctx)
	if err != nil {
		return nil, err
	}
	const most = 1 << 19 // more writes than any round makes
	t := newTracker(base, most, 1)
	if w.watch != nil {
		w.watch.track(t)
	}
	before, err := w.count(ctx)
	if err != nil {
		return nil, err
	}
	all, err := w.writeFor(ctx, w.writers, d)
	if err != nil {
		return nil, err
	}
	alone, err := w.writeFor(ctx, w.writers[:1], d/2)
	if err != nil {
		return nil, err
	}
	if err := w.check(ctx, t, before, slices.Concat(all.revisions, alone.revisions)); err != nil {
		return nil, err
	}
	slices.Sort(alone.took)
	slices.Sort(all.took)
	got := sample{
		"rate": float64(len(all.revisions)) / all.lasted.Seconds(), "p50": percentile(alone.took, 50), "p50-64": percentile(all.took, 50),
	}
	for i, server := range w.servers {
		got["cpu"] += all.cost[i]
		got["cpu-"+server.Name] = all.cost[i]
		got["alone"] += alone.cost[i]
		got["alone-"+server.Name] = alone.cost[i]
	}
	return got, nil
}

// redial replaces the connections of the clients.
func (w *writing) redial(ctx context.Context) error {
	return eachOf(w.clients, dialers, func(c *client) error { return c.redial(ctx) })
}

// cpu returns the processor time of each of the servers.
func (w *writing) cpu() ([]time.Duration, error) {
	used := make([]time.Duration, len(w.servers))
	var err error
	for i, server := range w.servers {
		if used[i], err = server.CPU(); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// check checks that every acknowledged write is stored, and that the watch got each once and in order.
func (w *writing) check(ctx context.Context, t *tracker, before int64, revisions []int64) error {
	after, err := w.count(ctx)
	if err != nil {
		return err
	}
	if w.adds && after-before != int64(len(revisions)) {
		return fmt.Errorf("%d writes were acknowledged, and %d objects are new", len(revisions), after-before)
	}
	if w.watch == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	if err := t.reach(ctx, int64(len(revisions))); err != nil {
		return w.watch.explain(err)
	}
	return w.watch.check(revisions)
}

// written is the result of writes in a duration.
type written struct {
	revisions []int64
	took      []float64 // milliseconds
	lasted    time.Duration
	cost      []float64 // microseconds a write, by server
}

// writeFor writes for a duration with some of the writers.
func (w *writing) writeFor(ctx context.Context, writers []write, d time.Duration) (written, error) {
	before, err := w.cpu()
	if err != nil {
		return written{}, err
	}
	sum, err := w.writeAll(ctx, writers, d)
	if err != nil {
		return written{}, err
	}
	after, err := w.cpu()
	for i := range after {
		sum.cost = append(sum.cost, (after[i]-before[i]).Seconds()*1e6/float64(len(sum.revisions)))
	}
	return sum, err
}

func (w *writing) writeAll(ctx context.Context, writers []write, d time.Duration) (written, error) {
	var (
		running sync.WaitGroup
		start   = time.Now()
		parts   = make([]written, len(writers))
		errs    = make([]error, len(writers))
		turns   atomic.Int64
	)
	turns.Store(int64(w.turn))
	for i, write := range writers {
		running.Go(func() {
			for time.Since(start) < d && errs[i] == nil {
				begun := time.Now()
				var revision int64
				if revision, errs[i] = write(ctx, int(turns.Add(1))); errs[i] == nil {
					parts[i].took = append(parts[i].took, time.Since(begun).Seconds()*1000)
					parts[i].revisions = append(parts[i].revisions, revision)
				}
			}
		})
	}
	running.Wait()
	w.turn = int(turns.Load())
	sum := written{lasted: time.Since(start)}
	for _, part := range parts {
		sum.took = append(sum.took, part.took...)
		sum.revisions = append(sum.revisions, part.revisions...)
	}
	return sum, firstError(errs)
}
