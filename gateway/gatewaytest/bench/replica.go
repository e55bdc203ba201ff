package main

import (
	"context"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// clusterRun is one round at one of the servers of a cluster.
type clusterRun func(ctx context.Context, c *cluster, server string) (sample, error)

// replicaRow compares a replica with its kube-apiserver. Both run all the time, over one etcd.
func replicaRow(name, title string, aspects []aspect, open func(ctx context.Context, s *stage, o *opening) (*cluster, error), run clusterRun) versus {
	return versus{title: title, aspects: aspects, row: row{name: name, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		c, err := open(ctx, s, o)
		if err != nil {
			return o.end(err)
		}
		for _, server := range clusterServers {
			o.add(contender{name: server, run: func(ctx context.Context) (sample, error) { return run(ctx, c, server) }})
		}
		return o.end(nil)
	}}}
}

// freshRow is replicaRow with a new cluster for each round, because processes do not return all memory to the system.
func freshRow(name, title string, aspects []aspect, open func(ctx context.Context, s *stage, o *opening) (*cluster, error), run clusterRun) versus {
	return versus{title: title, aspects: aspects, row: row{name: name, open: func(_ context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		for _, server := range clusterServers {
			o.add(contender{name: server, run: func(ctx context.Context) (sample, error) {
				inner := new(opening)
				defer func() { closeAll(inner.closers) }()
				c, err := open(ctx, s, inner)
				if err != nil {
					return nil, err
				}
				return run(ctx, c, server)
			}})
		}
		return o.end(nil)
	}}}.once()
}

// publishedCluster opens a cluster with the objects of the fan-outs.
func publishedCluster(t transport, token func(int) string) func(context.Context, *stage, *opening) (*cluster, error) {
	return func(ctx context.Context, s *stage, o *opening) (*cluster, error) {
		return s.openCluster(ctx, o, t, token, publishedObjects, publishedMessage)
	}
}

// replicaFanOut compares fan-outs. Only the server that is measured has watchers.
func replicaFanOut(name, title string, t transport, watchers int, l load, aspects []aspect) versus {
	return replicaRow(name, title, aspects, publishedCluster(t, sameUser), func(ctx context.Context, c *cluster, server string) (sample, error) {
		f := c.fanOut(server)
		var err error
		if f.fleet, err = c.openFleet(ctx, server, watchers); err != nil {
			return nil, err
		}
		defer f.fleet.close()
		return f.run(ctx, l)
	})
}

// replicaIdle compares the memory of an idle watch after a time of rest.
func replicaIdle(name, title string, t transport, s size, aspects []aspect) versus {
	return freshRow(name, title, aspects, publishedCluster(t, sameUser), func(ctx context.Context, c *cluster, server string) (sample, error) {
		first, err := c.openFleet(ctx, server, 1) // fills the cache
		if err != nil {
			return nil, err
		}
		defer first.close()
		if err := program.Pause(ctx, s.settle); err != nil { // the garbage of the start is gone
			return nil, err
		}
		sized := stage{size: s}
		return sized.idle(ctx, c.fanOut(server), t, func(watchers int) (*fleet, error) { return c.openFleet(ctx, server, watchers) })
	})
}

// replicaMove compares what the kube-apiserver costs while its watchers get events from the replica with what it costs while they get them from itself.
func replicaMove(name, title string, token func(int) string, s size, aspects []aspect) versus {
	const rate = 10
	return freshRow(name, title, aspects, publishedCluster(http2, token), func(ctx context.Context, c *cluster, server string) (sample, error) {
		f := c.fanOut(server)
		var err error
		if f.fleet, err = c.openFleet(ctx, server, s.watchers); err != nil {
			return nil, err
		}
		defer f.fleet.close()
		if err := program.Pause(ctx, s.settle); err != nil { // the work of the start ends
			return nil, err
		}
		var used [2]time.Duration // of the replica and of the kube-apiserver
		stop, err := c.clock(&used)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err = f.run(ctx, load{events: s.moved * rate, rate: rate}); err != nil {
			return nil, err
		}
		took := time.Since(began).Seconds()
		if err = stop(); err != nil {
			return nil, err
		}
		kubernetes := c.servers[kubeAPIServer]
		if _, err = kubernetes.Settled(ctx, s.settle); err != nil {
			return nil, err
		}
		resident, err := kubernetes.Resident()
		return sample{"kubernetes": used[1].Seconds() * 1000 / took, "both": (used[0] + used[1]).Seconds() * 1000 / took, "rss": float64(resident) / 1e6}, err
	})
}

// clock begins to measure the processor time of the servers. stop stores it.
func (c *cluster) clock(used *[2]time.Duration) (stop func() error, err error) {
	var before [2]time.Duration
	for i, p := range c.processes() {
		if before[i], err = p.CPU(); err != nil {
			return nil, err
		}
	}
	return func() error {
		for i, p := range c.processes() {
			now, err := p.CPU()
			if err != nil {
				return err
			}
			used[i] = now - before[i]
		}
		return nil
	}, nil
}

// podRest is the time of rest after a list of many Pods, in times of size.settle: in two minutes Go collects the garbage of an idle program.
const podRest = 6

// replicaPods compares the memory of the servers with many Pods, before and after a client has listed them.
func replicaPods(name, title string, s size, aspects []aspect) versus {
	open := func(ctx context.Context, st *stage, o *opening) (*cluster, error) {
		return st.openCluster(ctx, o, tls11, sameUser, s.pods, storedPod)
	}
	return freshRow(name, title, aspects, open, func(ctx context.Context, c *cluster, server string) (sample, error) {
		p := c.servers[server]
		before, err := p.Resident()
		if err != nil {
			return nil, err
		}
		if err := p.untilAnswers(ctx, "/api/v1/pods?limit=1"); err != nil { // the cache of the replica is filled by the first request
			return nil, err
		}
		if err := listPods(ctx, p.endpoint, s.pods); err != nil {
			return nil, err
		}
		if _, err := p.Settled(ctx, podRest*s.settle); err != nil {
			return nil, err
		}
		resident, err := p.Resident()
		if err != nil {
			return nil, err
		}
		peak, err := p.Peak()
		return sample{"before": float64(before) / 1e6, "rss": float64(resident) / 1e6, "peak": float64(peak) / 1e6}, err
	})
}
