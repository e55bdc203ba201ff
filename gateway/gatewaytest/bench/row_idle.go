package main

import "context"

// idleRow measures the cost of an idle watcher, and the rate of connects. Each round has its own processes, because they do not return all
// memory to the system.
func idleRow(name string, t transport, d design, figures []figure) row {
	return row{name: name, figures: figures, open: func(_ context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		for _, product := range s.products {
			o.add(contender{name: product.name, run: func(ctx context.Context) (sample, error) { return s.idleProduct(ctx, product.binary, t) }})
		}
		if s.withPeers {
			o.add(contender{name: string(d), run: func(ctx context.Context) (sample, error) { return s.idleNull(ctx, d, t) }})
		}
		return o.end(nil)
	}}
}

// idleProduct and idleNull are one round.
func (s *stage) idleProduct(ctx context.Context, binary string, t transport) (sample, error) {
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	if _, err := e.load(ctx, publishedObjects, published); err != nil {
		return nil, err
	}
	p, err := s.openProduct(ctx, o, binary, e, t)
	if err != nil {
		return nil, err
	}
	return s.idle(ctx, &fanOut{server: p.Process, publisher: etcdPublisher{e, published}}, t, func(watchers int) (*fleet, error) {
		return openProductFleet(ctx, e, p, jsonLines, watchers)
	})
}

func (s *stage) idleNull(ctx context.Context, d design, t transport) (sample, error) {
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	n, err := s.startNull(ctx, d, t)
	if err != nil {
		return nil, err
	}
	o.own(n.Stop)
	c, err := dialControl(ctx, n.control)
	if err != nil {
		return nil, err
	}
	o.own(c.close)
	return s.idle(ctx, &fanOut{server: n.Process, publisher: c}, t, func(watchers int) (*fleet, error) {
		return openNullFleet(ctx, n, watchers)
	})
}

// idle opens many watches and leaves them idle; at the end a few events show that each of them is open.
func (s *stage) idle(ctx context.Context, f *fanOut, t transport, open func(watchers int) (*fleet, error)) (sample, error) {
	const first = 100 // because the first watches allocate memory once for each process
	warm, err := open(first)
	if err != nil {
		return nil, err
	}
	defer warm.close()
	before, err := f.server.Settled(ctx, s.size.settle)
	if err != nil {
		return nil, err
	}
	if f.fleet, err = open(s.size.idle[t]); err != nil {
		return nil, err
	}
	defer f.fleet.close()
	after, err := f.server.Settled(ctx, s.size.settle)
	if err != nil {
		return nil, err
	}
	if _, err := f.run(ctx, load{events: 3, rate: 10}); err != nil {
		return nil, err
	}
	return sample{
		"memory":  float64(after-before) / 1000 / float64(s.size.idle[t]),
		"connect": f.fleet.connected.Seconds(),
	}, nil
}
