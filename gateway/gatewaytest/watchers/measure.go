package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// result is one line of the table.
type result struct {
	point
	replicas           int
	opening            time.Duration // of all watches
	openingCPU         time.Duration // of the gateway
	before, idle, left int64         // resident memory of the gateway
	still, churning    delivery
}

// delivery is the cost of events.
type delivery struct {
	p50, worst time.Duration // from the write to the last watcher
	cpu        time.Duration // of the gateway, for one event
	load       time.Duration // of this process, for one event
}

// measure measures one point, with servers of its own.
func measure(ctx context.Context, o options, p point, say func(string, ...any)) (r result, err error) {
	r.point, r.replicas = p, o.replicas
	s, err := startServers(ctx, o, p.objects)
	if s != nil {
		defer s.stop()
	}
	if err != nil {
		return r, err
	}
	if err := warm(ctx, s, o); err != nil {
		return r, err
	}
	if r.before, err = resident(ctx, s.gateway); err != nil {
		return r, err
	}
	if err := <-r.profile(ctx, o, s, "heap?debug=1", "before"); err != nil {
		return r, err
	}
	f, err := r.open(ctx, o, s)
	if f != nil {
		defer f.close()
	}
	if err != nil {
		return r, err
	}
	say("%d watches are open after %v; CPU of the gateway %v", p.watchers, r.opening.Round(time.Millisecond), r.openingCPU)
	if err := program.Pause(ctx, o.idle); err != nil {
		return r, err
	}
	if r.idle, err = s.gateway.Resident(); err != nil {
		return r, err
	}
	say("%.0f MB, %.2f KB a watch", float64(r.idle)/1e6, r.memory())
	if err := r.deliver(ctx, o, f, say); err != nil {
		return r, err
	}
	f.close()
	if err := program.Pause(ctx, o.left); err != nil {
		return r, err
	}
	if r.left, err = s.gateway.Resident(); err != nil {
		return r, err
	}
	say("%.0f MB before, %.0f MB after they left", megabytes(r.before), megabytes(r.left))
	return r, <-r.profile(ctx, o, s, "heap?debug=1", "left")
}

// open opens the watches.
func (r *result) open(ctx context.Context, o options, s *servers) (f *fleet, err error) {
	profiled := r.profile(ctx, o, s, fmt.Sprintf("profile?seconds=%d", 1+int(float64(r.watchers)/max(o.rate, 1000))), "opening")
	before, err := s.gateway.CPU()
	if err != nil {
		return nil, err
	}
	if f, r.opening, err = openFleet(ctx, s, r.watchers, o.rate, o.wide); err != nil {
		return f, s.explain(err)
	}
	after, err := s.gateway.CPU()
	if err != nil {
		return f, err
	}
	r.openingCPU = after - before
	return f, <-profiled
}

// profile begins a profile of the gateway, if there is a folder for it. The channel gets a value at its end.
func (r *result) profile(ctx context.Context, o options, s *servers, path, name string) <-chan error {
	profiled := make(chan error, 1)
	if o.profiles == "" {
		profiled <- nil
		return profiled
	}
	go func() {
		profiled <- s.profile(ctx, path, filepath.Join(o.profiles, fmt.Sprintf("%d-%s.pprof", r.watchers, name)))
	}()
	return profiled
}

// memory returns what an idle watch takes, in KB.
func (r result) memory() float64 { return float64(r.idle-r.before) / 1000 / r.ofReplica() }

// ofReplica returns the number of watchers of each replica.
func (r result) ofReplica() float64 { return float64(r.watchers) / float64(r.replicas) }

// warm opens and leaves a few watches, because the first ones allocate memory once for a process.
func warm(ctx context.Context, s *servers, o options) error {
	f, _, err := openFleet(ctx, s, 2*streamsPerConn, 0, o.wide)
	defer f.close()
	if err == nil {
		_, _, err = f.deliver(ctx, 0, -1)
	}
	return err
}

// resident returns the memory of the gateway when it is idle.
func resident(ctx context.Context, gateway gateways) (int64, error) {
	if err := program.Pause(ctx, 5*time.Second); err != nil {
		return 0, err
	}
	return gateway.Resident()
}

// deliver measures events, at first to watchers that stay, then to some that leave and come back.
func (r *result) deliver(ctx context.Context, o options, f *fleet, say func(string, ...any)) (err error) {
	if err := <-r.profile(ctx, o, f.servers, "heap?gc=1", "heap"); err != nil {
		return err
	}
	profiled := r.profile(ctx, o, f.servers, fmt.Sprintf("profile?seconds=%d", 5+o.events/2), "events")
	if r.still, err = f.run(ctx, o, 0); err != nil {
		return err
	}
	say("an event to the last watcher: p50 %v, worst %v; CPU of the gateway %v, of the load %v", r.still.p50, r.still.worst, r.still.cpu, r.still.load)
	if err := <-profiled; err != nil || o.churn == 0 {
		return err
	}
	churning, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- f.churn(churning, o.churn) }()
	if r.churning, err = f.run(ctx, o, o.events); err != nil {
		return err
	}
	stop()
	if err := <-failed; err != nil {
		return err
	}
	say("with churn: p50 %v, worst %v; CPU of the gateway %v", r.churning.p50, r.churning.worst, r.churning.cpu)
	return f.awaitOpen(ctx, r.watchers)
}

// run delivers events one by one, and checks that each watcher got each once. The watchers have got a number of events before.
func (f *fleet) run(ctx context.Context, o options, before int) (d delivery, err error) {
	var times []time.Duration
	var last int64
	cpu, err := f.servers.gateway.CPU()
	if err != nil {
		return d, err
	}
	own := ownCPU()
	for i := range o.events {
		var took time.Duration
		if took, last, err = f.deliver(ctx, i%o.objects, before+i+1); err != nil {
			return d, err
		}
		times = append(times, took)
		if err := program.Pause(ctx, 500*time.Millisecond); err != nil { // a second one would be found now
			return d, err
		}
	}
	after, err := f.servers.gateway.CPU()
	if err != nil {
		return d, err
	}
	slices.Sort(times)
	n := time.Duration(o.events)
	d = delivery{p50: times[len(times)/2], worst: times[len(times)-1], cpu: (after - cpu) / n, load: (ownCPU() - own) / n}
	return d, f.check(before+o.events, last)
}
