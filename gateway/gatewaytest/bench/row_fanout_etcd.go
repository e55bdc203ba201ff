package main

import (
	"context"
	"encoding/base64"
	"fmt"
)

const (
	etcdGRPC design = "etcd gRPC" // etcd itself, as clientv3 watches it
	etcdHTTP design = "etcd HTTP" // etcd's own HTTP gateway: /v3/watch
	// slower is the factor by which etcd's own watches get fewer events, because they take longer.
	slower = 10
)

// ofEtcd reports whether the design is a watch of etcd itself.
func (d design) ofEtcd() bool { return d == etcdGRPC || d == etcdHTTP }

// openEtcdFanOut starts an etcd whose watchers connect without a gateway. Its cost includes the writes.
func (s *stage) openEtcdFanOut(ctx context.Context, o *opening, d design) (*fanOut, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	if _, err = e.load(ctx, publishedObjects, published); err != nil {
		return nil, err
	}
	from, err := e.revision(ctx)
	if err != nil {
		return nil, err
	}
	at, w := endpoint{transport: rpc, address: e.endpoint}, watches{count: s.size.watchers, path: func(int) string { return "/v3/watch" }, after: from}
	if d == etcdHTTP {
		at.transport, w.form = plain, etcdAnswers
		w.body = fmt.Sprintf(`{"create_request":{%s,"start_revision":"%d"}}`, jsonRange(), from+1)
	}
	f, err := openFleet(ctx, at, w)
	if err != nil {
		return nil, err
	}
	o.own(f.close)
	return &fanOut{server: e.Process, publisher: etcdPublisher{e, published}, fleet: f}, nil
}

// jsonRange is the range of all ConfigMaps for etcd's HTTP gateway.
func jsonRange() string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(`"key":"%s","range_end":"%s"`, encode([]byte(configMapsKey)), encode(rangeEnd(configMapsKey)))
}
