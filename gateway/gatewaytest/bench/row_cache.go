package main

import "context"

// cacheRow measures the memory of the cache relative to the stored bytes: after it was filled, and after each object was updated once.
func cacheRow(figures []figure) row {
	return row{name: "cache", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		e, _, err := s.openStored(ctx, o, s.size.cached)
		if err != nil {
			return o.end(err)
		}
		version := 0
		for _, product := range s.products {
			o.add(contender{name: product.name, run: func(ctx context.Context) (sample, error) {
				version++
				return s.cache(ctx, e, product.binary, version)
			}})
		}
		return o.end(nil)
	}}
}

// cache is one round with a gateway of its own. It updates each object to the given version.
func (s *stage) cache(ctx context.Context, e *etcd, binary string, version int) (sample, error) {
	empty, err := s.memoryOf(ctx, binary, e, "--etcd-prefix", "/empty")
	if err != nil {
		return nil, err
	}
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	p, err := s.openProduct(ctx, o, binary, e, plain)
	if err != nil {
		return nil, err
	}
	loaded, err := p.Settled(ctx, s.size.settle)
	if err != nil {
		return nil, err
	}
	f, err := openProductFleet(ctx, e, p, jsonLines, 1)
	if err != nil {
		return nil, err
	}
	o.own(f.close)
	updated := func(i int) (string, []byte) {
		name := objectName(i)
		return configMapsKey + name, configMap(name, "all", version)
	}
	events := &fanOut{server: p.Process, publisher: etcdPublisher{e, updated}, fleet: f}
	if _, err := events.run(ctx, load{events: s.size.cached}); err != nil {
		return nil, err
	}
	after, err := p.Settled(ctx, s.size.settle)
	bytes := float64(s.size.cached) * objectSize
	return sample{"loaded": float64(loaded-empty) / bytes, "updated": float64(after-empty) / bytes}, err
}

// memoryOf returns the memory of a gateway that was just started.
func (s *stage) memoryOf(ctx context.Context, binary string, e *etcd, flags ...string) (int64, error) {
	p, err := s.startProduct(ctx, binary, e, plain, flags...)
	if err != nil {
		return 0, err
	}
	defer p.Stop()
	return p.Settled(ctx, s.size.settle)
}
