package main

import (
	"context"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// fanOut is a server with watchers, and the publisher of its events.
type fanOut struct {
	server    *program.Process
	publisher publisher
	fleet     *fleet
}

// doubling is the time in which a duplicate event must arrive.
const doubling = 50 * time.Millisecond

// run publishes a load, waits until every watcher has it, and checks the events of the watchers.
func (f *fanOut) run(ctx context.Context, l load) (sample, error) {
	base, err := f.publisher.revision(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*program.Patience)
	defer cancel()
	defer context.AfterFunc(f.fleet.ctx, cancel)() // a broken stream ends the run
	before, err := f.server.CPU()
	if err != nil {
		return nil, err
	}
	t := newTracker(base, l.events, len(f.fleet.watchers))
	f.fleet.track(t)
	revisions, err := publishAll(ctx, f.publisher, t, l)
	if err != nil {
		return nil, f.fleet.explain(err)
	}
	late := t.reach(ctx, int64(l.events))
	took := time.Since(t.start)
	after, err := f.server.CPU()
	if err != nil {
		return nil, err
	}
	_ = program.Pause(ctx, doubling) // when ctx has ended, the check reports the missing events
	if err := f.fleet.check(revisions); err != nil {
		return nil, f.fleet.explain(err)
	}
	deliveries := float64(l.events * len(f.fleet.watchers))
	lags := t.lags()
	return sample{
		"cpu": (after - before).Seconds() * 1e6 / deliveries, "rate": deliveries / took.Seconds(),
		"p50": percentile(lags, 50), "p99": percentile(lags, 99), "max": percentile(lags, 100),
	}, late
}

// fanOutRow compares the product with null fan-outs over one transport, under one load.
func fanOutRow(name string, t transport, designs []design, l func(size) load, figures []figure) row {
	return formRow(name, t, jsonLines, designs, l, figures)
}

// formRow is fanOutRow for watches in a form.
func formRow(name string, t transport, in form, designs []design, l func(size) load, figures []figure) row {
	return row{name: name, figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		add := func(name string, f *fanOut, err error) error {
			if err == nil {
				what := l(s.size)
				if design(name).ofEtcd() {
					what.events /= slower
				}
				o.add(contender{name: name, run: func(ctx context.Context) (sample, error) { return f.run(ctx, what) }})
			}
			return err
		}
		for _, product := range s.products {
			f, err := s.openProductFanOut(ctx, o, product.binary, t, in)
			if err := add(product.name, f, err); err != nil {
				return o.end(err)
			}
		}
		if !s.withPeers {
			return o.end(nil)
		}
		for i, d := range designs {
			f, err := s.openPeerFanOut(ctx, o, d, t)
			if err := add(string(d), f, err); err != nil {
				return o.end(err)
			}
			o.contenders[len(o.contenders)-1].once = i > 0 // the goals compare with the first one
		}
		return o.end(nil)
	}}
}

// openPeerFanOut starts a peer of the product.
func (s *stage) openPeerFanOut(ctx context.Context, o *opening, d design, t transport) (*fanOut, error) {
	if d.ofEtcd() {
		return s.openEtcdFanOut(ctx, o, d)
	}
	return s.openNullFanOut(ctx, o, d, t)
}

// etcdPublisher writes to etcd itself.
type etcdPublisher struct {
	*etcd
	object func(i int) (key string, value []byte)
}

func (p etcdPublisher) publish(ctx context.Context, i int) (int64, error) {
	key, value := p.object(i)
	return p.put(ctx, key, value)
}

// publishedObjects is the number of objects that the events of a fan-out change.
const publishedObjects = 100

// published returns the object of the i-th event.
func published(i int) (string, []byte) {
	name := objectName(i % publishedObjects)
	return configMapsKey + name, configMap(name, "all", i)
}

// openProductFanOut starts an etcd and a gateway. The opening closes them.
func (s *stage) openProductFanOut(ctx context.Context, o *opening, binary string, t transport, in form) (*fanOut, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	if _, err := e.load(ctx, publishedObjects, published); err != nil {
		return nil, err
	}
	p, err := s.openProduct(ctx, o, binary, e, t, in.flags()...)
	if err != nil {
		return nil, err
	}
	f, err := openProductFleet(ctx, e, p, in, s.size.watchers)
	if err != nil {
		return nil, err
	}
	o.own(f.close)
	return &fanOut{server: p.Process, publisher: etcdPublisher{e, published}, fleet: f}, nil
}

// openProductFleet opens watches of all ConfigMaps from the current revision.
func openProductFleet(ctx context.Context, e *etcd, p *product, in form, watchers int) (*fleet, error) {
	from, err := e.revision(ctx)
	if err != nil {
		return nil, err
	}
	return openFleet(ctx, p.endpoint, watches{count: watchers, form: in, path: func(int) string { return in.path(from) }})
}

// openNullFanOut starts a null fan-out.
func (s *stage) openNullFanOut(ctx context.Context, o *opening, d design, t transport) (*fanOut, error) {
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
	f, err := openNullFleet(ctx, n, s.size.watchers)
	if err != nil {
		return nil, err
	}
	o.own(f.close)
	return &fanOut{server: n.Process, publisher: c, fleet: f}, nil
}

func openNullFleet(ctx context.Context, n *peer, watchers int) (*fleet, error) {
	return openFleet(ctx, n.endpoint, watches{count: watchers, path: func(int) string { return "/" }})
}
