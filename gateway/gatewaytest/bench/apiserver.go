package main

import (
	"context"

	"revtail/gateway/gatewaytest/program"
)

// apiServer is a server of the Kubernetes API in the comparison.
type apiServer struct {
	name  string
	start func(ctx context.Context, e *etcd, t transport) (*product, error)
	// seed is an object that is in its etcd before it starts.
	seed func() (key string, value []byte)
	// encode returns a ConfigMap in JSON as the server stores it.
	encode func(object []byte) []byte
}

// apiServers are revtail and kube-apiserver.
func (s *stage) apiServers() []apiServer {
	own := s.products[0]
	return []apiServer{
		{own.name, func(ctx context.Context, e *etcd, t transport) (*product, error) {
			return s.startProduct(ctx, own.binary, e, t)
		},
			defaultNamespace, func(object []byte) []byte { return object }},
		{kubeAPIServer, func(ctx context.Context, e *etcd, t transport) (*product, error) {
			return s.startKubeAPIServer(ctx, e, t)
		},
			everyoneIsAdmin, messageConfigMap},
	}
}

// object returns the objects as the server stores them.
func (a apiServer) object(of func(i int) (string, []byte)) func(i int) (string, []byte) {
	return func(i int) (string, []byte) {
		key, object := of(i)
		return key, a.encode(object)
	}
}

// openEtcd starts an etcd with the first n of some objects, and returns their revisions. The opening closes it.
func (a apiServer) openEtcd(ctx context.Context, s *stage, o *opening, n int, of func(i int) (string, []byte)) (*etcd, []int64, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, nil, err
	}
	o.own(e.close)
	key, value := a.seed()
	if _, err = e.put(ctx, key, value); err != nil {
		return nil, nil, err
	}
	revisions, err := e.load(ctx, n, a.object(of))
	return e, revisions, err
}

// served is an API server before an etcd of its own.
type served struct {
	*product
	etcd      *etcd
	revisions []int64 // of the objects
}

// open starts an etcd with the first n of some objects, and the server before it. The opening closes them.
func (a apiServer) open(ctx context.Context, s *stage, o *opening, t transport, n int, of func(i int) (string, []byte)) (*served, error) {
	e, revisions, err := a.openEtcd(ctx, s, o, n, of)
	if err != nil {
		return nil, err
	}
	p, err := a.start(ctx, e, t)
	if err != nil {
		return nil, err
	}
	o.own(p.Stop)
	return &served{product: p, etcd: e, revisions: revisions}, nil
}

// alone returns a contender that needs the server and its etcd.
func (v *served) alone(run func(ctx context.Context) (sample, error)) solo {
	return solo{processes: []*program.Process{v.etcd.Process, v.Process}, run: run}
}
