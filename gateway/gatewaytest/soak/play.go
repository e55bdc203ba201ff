package soak

import (
	"fmt"
	"os"
	"time"

	"revtail/gateway/gatewaytest/robustness"
)

// The load of a run.
const (
	watchers  = 60
	writes    = 8                // a second, of each writer
	retained  = 200              // revisions that a compaction leaves
	killEvery = 5                // steps
	killedFor = 5 * time.Second  // at most
	leastStep = 5 * time.Second  // between samples
	mostStep  = 60 * time.Second // between samples
)

// rules allow nothing but what a client does itself: neither a reload nor a lost member of etcd ends a stream.
var rules = robustness.Rules{}

// soak is one run.
type soak struct {
	length  time.Duration
	folder  string // for the files
	samples []sample
}

// scenario returns the run as a scenario: one replica serves HTTP, the other one HTTPS.
func (s *soak) scenario() *robustness.Scenario {
	return &robustness.Scenario{
		Name: "soak", Etcd: 3, Gateways: 2, Secure: 1, Rules: rules,
		Play: func(r *robustness.Run, _ int) { s.play(r) },
	}
}

// play keeps up the load, and takes a sample after each step. It ends early when a client did not get what it should.
func (s *soak) play(r *robustness.Run) {
	r.Watch(crowd()...)
	began, step := time.Now(), min(mostStep, max(leastStep, s.length/20))
	for i, at := 0, time.Duration(0); at < s.length; i++ {
		ends := time.Now().Add(step)
		r.Write(writes)
		disturb(r, i, step)
		r.Wait(time.Until(ends))
		history, violations := r.Checkpoint(rules)
		at = time.Since(began)
		now := measure(r, at, r.Gateways(), history)
		s.samples = append(s.samples, now)
		_, _ = fmt.Fprintln(os.Stdout, now)
		if err := save(s.folder, s.samples); err != nil {
			r.Fatal(err)
		}
		if len(violations) > 0 {
			return
		}
	}
}

// disturb reloads the files of a gateway, compacts etcd and, sometimes, kills one of its members.
func disturb(r *robustness.Run, i int, step time.Duration) {
	gateways, members := r.Gateways(), r.Members()
	r.Wait(step / 4)
	gateways[i%len(gateways)].Hangup(r)
	r.Wait(step / 4)
	r.Compact(max(1, r.Newest()-retained))
	if i%killEvery == killEvery-1 {
		m := members[i/killEvery%len(members)]
		r.Fault("kill -9 of %s", m.Endpoint)
		m.Kill(r)
		r.Wait(min(killedFor, step/4))
		m.Restart(r)
	}
}

// crowd returns clients of all kinds: of resources and keys, lines, event streams and WebSockets, over HTTP/1.1 and HTTP/2. Some leave, and come
// back. Those of keys watch all of them: each range has a log of its own in a gateway, and that of a key with few changes takes hours to be full.
func crowd() []robustness.Client {
	clients := robustness.Crowd(watchers)
	for i := range clients {
		c := &clients[i]
		c.HTTP2 = i%3 == 0
		if i%8 == 3 {
			c.Dialect = robustness.WebSocket
		}
		if i%9 == 4 {
			c.Leave = time.Duration(10+i) * time.Second
		}
		if c.Dialect == robustness.Keys {
			c.Scope, c.Gateway = robustness.Scope{}, i/8
		}
	}
	return clients
}
