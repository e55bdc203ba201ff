package main

import (
	"context"

	"revtail/gateway/gatewaytest/program"
)

// versusFanOut compares fan-outs to a number of watchers over one transport, under one load.
func versusFanOut(name, title string, t transport, watchers int, l load, aspects []aspect) versus {
	return versusRow(name, title, aspects, func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error) {
		v, err := a.open(ctx, s, o, t, publishedObjects, published)
		if err != nil {
			return solo{}, err
		}
		f, err := openProductFleet(ctx, v.etcd, v.product, jsonLines, watchers)
		if err != nil {
			return solo{}, err
		}
		o.own(f.close)
		events := &fanOut{server: v.Process, publisher: etcdPublisher{v.etcd, a.object(published)}, fleet: f}
		return v.alone(func(ctx context.Context) (sample, error) { return events.run(ctx, l) }), nil
	}, func(ctx context.Context, s *stage, o *opening) (solo, error) {
		sized := *s
		sized.size.watchers = watchers
		f, err := sized.openNullFanOut(ctx, o, nullDesign(t), t)
		if err != nil {
			return solo{}, err
		}
		return solo{[]*program.Process{f.server}, func(ctx context.Context) (sample, error) { return f.run(ctx, l) }}, nil
	})
}

// nullDesign is the cheapest design over a transport.
func nullDesign(t transport) design {
	if t == plain {
		return sharded
	}
	return flushPerBatch
}

// versusIdle compares the memory of an idle watch after a time of rest. Each round has its own processes, because they do not return all
// memory to the system, and no two of them run at once.
func versusIdle(name, title string, t transport, aspects []aspect) versus {
	return versusRow(name, title, aspects, func(_ context.Context, s *stage, _ *opening, a apiServer) (solo, error) {
		return solo{run: func(ctx context.Context) (sample, error) {
			o := new(opening)
			defer func() { closeAll(o.closers) }()
			v, err := a.open(ctx, s, o, t, publishedObjects, published)
			if err != nil {
				return nil, err
			}
			events := &fanOut{server: v.Process, publisher: etcdPublisher{v.etcd, a.object(published)}}
			return s.idle(ctx, events, t, func(watchers int) (*fleet, error) {
				return openProductFleet(ctx, v.etcd, v.product, jsonLines, watchers)
			})
		}}, nil
	}, func(_ context.Context, s *stage, _ *opening) (solo, error) {
		return solo{run: func(ctx context.Context) (sample, error) { return s.idleNull(ctx, nullDesign(t), t) }}, nil
	}).once()
}

// once gives a row one round, because it is long.
func (v versus) once() versus {
	open := v.open
	v.open = func(ctx context.Context, s *stage) ([]contender, error) {
		contenders, err := open(ctx, s)
		for i := range contenders {
			contenders[i].once = true
		}
		return contenders, err
	}
	return v
}
