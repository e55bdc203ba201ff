package main

import (
	"context"

	"revtail/gateway/gatewaytest/program"
)

// versusWrites compares writes to the API servers with puts to a bare etcd.
func versusWrites(name, title string, kind writeKind, aspects []aspect) versus {
	return versusRow(name, title, aspects, func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error) {
		v, err := a.open(ctx, s, o, tls11, 0, stored)
		if err != nil {
			return solo{}, err
		}
		w, err := s.openWriting(ctx, o, v.product, v.etcd, kind, "/registry")
		if err != nil {
			return solo{}, err
		}
		return v.alone(func(ctx context.Context) (sample, error) {
			if err := w.redial(ctx); err != nil { // because a server may end connections that rest while it is frozen
				return nil, err
			}
			watch, err := openProductFleet(ctx, v.etcd, v.product, jsonLines, 1) // and it ends a watch
			if err != nil {
				return nil, err
			}
			defer watch.close()
			w.watch = watch
			got, err := w.run(ctx, s.size.writes)
			if err == nil {
				got["own"], got["own-alone"] = got["cpu-"+v.Name], got["alone-"+v.Name]
			}
			return got, err
		}), nil
	}, func(ctx context.Context, s *stage, o *opening) (solo, error) {
		e, err := s.startEtcd(ctx)
		if err != nil {
			return solo{}, err
		}
		o.own(e.close)
		w := directWriting(e, kind)
		return solo{[]*program.Process{e.Process}, func(ctx context.Context) (sample, error) { return w.run(ctx, s.size.writes) }}, nil
	})
}
