package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// prepared is the name of the peer that sends the same bytes from memory.
const prepared = "prepared"

// listing is a server, clients that list everything repeatedly, and the expected response.
type listing struct {
	server  *program.Process
	clients []lister
	want    answer
}

// lister lists everything once.
type lister func() (answer, error)

// openListing takes the first response as the expected one.
func openListing(server *program.Process, clients []lister) (*listing, error) {
	want, err := clients[0]()
	return &listing{server: server, clients: clients, want: want}, err
}

// listers returns clients of a server that send a request each: with a body, POST.
func listers(ctx context.Context, o *opening, e endpoint, path, body string, clients int) ([]lister, error) {
	method := "GET"
	if body != "" {
		method = "POST"
	}
	var all []lister
	for range clients {
		c, err := dial(ctx, e)
		if err != nil {
			return nil, err
		}
		o.own(c.close)
		all = append(all, func() (answer, error) { return c.note(method, path, []byte(body)) })
	}
	return all, nil
}

// acceptListers are listers of ConfigMaps in the form that a header Accept asks for, whose checksum leaves out the first bytes.
func acceptListers(ctx context.Context, o *opening, e endpoint, accept string, skip, clients int) ([]lister, error) {
	var all []lister
	for range clients {
		c, err := dial(ctx, e)
		if err != nil {
			return nil, err
		}
		o.own(c.close)
		c.accept, c.skip = accept, skip
		all = append(all, func() (answer, error) { return c.get(configMapsURL) })
	}
	return all, nil
}

// run lists for a duration with all clients at once.
func (l *listing) run(d time.Duration) (sample, error) {
	resident, err := l.server.Resident()
	if err != nil {
		return nil, err
	}
	if err := l.server.ForgetPeak(); err != nil {
		return nil, err
	}
	before, err := l.server.CPU()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	lists, firstBytes, err := l.listFor(d)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	after, err := l.server.CPU()
	if err != nil {
		return nil, err
	}
	peak, err := l.server.Peak()
	bytes := float64(lists) * float64(l.want.bytes)
	return sample{
		"rate": bytes / took.Seconds() / 1e6, "cpu": (after - before).Seconds() / (bytes / 1e9),
		"each": (after - before).Seconds() * 1000 / float64(lists), "first": median(firstBytes) * 1000, "extra": float64(peak-resident) / (1 << 10),
	}, err
}

func (l *listing) listFor(d time.Duration) (lists int, firstBytes []float64, err error) {
	var (
		running sync.WaitGroup
		end     = time.Now().Add(d)
		firsts  = make([][]float64, len(l.clients))
		errs    = make([]error, len(l.clients))
	)
	for i, list := range l.clients {
		running.Go(func() {
			for time.Now().Before(end) && errs[i] == nil {
				var got answer
				if got, errs[i] = list(); errs[i] == nil && (got.bytes != l.want.bytes || got.checksum != l.want.checksum) {
					errs[i] = fmt.Errorf("a list of %d bytes is not like the first one, of %d bytes", got.bytes, l.want.bytes)
				}
				firsts[i] = append(firsts[i], got.firstByte.Seconds())
			}
		})
	}
	running.Wait()
	firstBytes = slices.Concat(firsts...)
	return len(firstBytes), firstBytes, firstError(errs)
}

// stored returns the i-th object of a state.
func stored(i int) (string, []byte) {
	name := objectName(i)
	return configMapsKey + name, configMap(name, "all", 0)
}

// defaultNamespace is a key and its value. A gateway creates the Namespace of objects without one, and the lists before that have another
// resourceVersion than those after it.
func defaultNamespace() (key string, value []byte) {
	return "/registry/namespaces/default", []byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default",` + strings.TrimSuffix(given, ",") + `}}`)
}

// openStored starts an etcd with objects in it and returns their revisions.
func (s *stage) openStored(ctx context.Context, o *opening, objects int) (*etcd, []int64, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, nil, err
	}
	o.own(e.close)
	key, value := defaultNamespace()
	if _, err = e.put(ctx, key, value); err != nil {
		return e, nil, err
	}
	revisions, err := e.load(ctx, objects, stored)
	return e, revisions, err
}

// listRow compares lists with prepared bytes.
func listRow(name string, t transport, objects func(size) int, clients int, figures []figure) row {
	return row{name: name, figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		e, revisions, err := s.openStored(ctx, o, objects(s.size))
		if err != nil {
			return o.end(err)
		}
		besideEtcd := slices.ContainsFunc(figures, func(f figure) bool { return design(f.peer).ofEtcd() })
		var body string
		for _, product := range s.products {
			p, failed := s.openProduct(ctx, o, product.binary, e, t)
			if failed != nil {
				return o.end(failed)
			}
			if body, err = s.keepList(ctx, p.endpoint, revisions); err != nil {
				return o.end(err)
			}
			if err := s.addListing(ctx, o, product.name, p.Process, p.endpoint, clients); err != nil {
				return o.end(err)
			}
		}
		if !s.withPeers {
			return o.end(nil)
		}
		p, err := s.openPrepared(ctx, o, t, body)
		if err != nil {
			return o.end(err)
		}
		if err := s.addListing(ctx, o, prepared, p.Process, p.endpoint, clients); err != nil || !besideEtcd {
			return o.end(err)
		}
		return o.end(s.addEtcdLists(ctx, o, e))
	}}
}

// addListing adds a server as a contender of a list row.
func (s *stage) addListing(ctx context.Context, o *opening, name string, server *program.Process, e endpoint, clients int) error {
	all, err := listers(ctx, o, e, configMapsURL, "", clients)
	if err != nil {
		return err
	}
	return s.addListers(o, name, server, all)
}

func (s *stage) addListers(o *opening, name string, server *program.Process, clients []lister) error {
	l, err := openListing(server, clients)
	if err == nil {
		o.add(contender{name: name, run: func(context.Context) (sample, error) { return l.run(s.size.lists) }})
	}
	return err
}

// addEtcdLists adds etcd itself, and its own HTTP gateway, as contenders for information.
func (s *stage) addEtcdLists(ctx context.Context, o *opening, e *etcd) error {
	err := s.addListers(o, string(etcdGRPC), e.Process, []lister{func() (answer, error) { return e.rangeAll(ctx) }})
	if err != nil {
		return err
	}
	all, err := listers(ctx, o, endpoint{transport: plain, address: e.endpoint}, "/v3/kv/range", "{"+jsonRange()+"}", 1)
	if err != nil {
		return err
	}
	if err := s.addListers(o, string(etcdHTTP), e.Process, all); err != nil {
		return err
	}
	for i := len(o.contenders) - 2; i < len(o.contenders); i++ {
		o.contenders[i].once = true
	}
	return nil
}

// fewerObjects is the contender with the smaller state.
const fewerObjects = "fewer objects"

// rest is the pause between two lists whose first byte is measured: longer than the largest list takes. Without it the previous list would
// change the result: a larger one leaves less of the programs in the processors' caches, and lets etcd sleep longer.
const rest = 20 * time.Millisecond

// rested are clients that pause before each list.
func rested(clients []lister) []lister {
	out := make([]lister, len(clients))
	for i, list := range clients {
		out[i] = func() (answer, error) {
			<-time.After(rest)
			return list()
		}
	}
	return out
}

// firstByteRow compares the time to the first byte of a list with many objects and with fewer.
func firstByteRow(figures []figure) row {
	return row{name: "list-first-byte", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		add := func(name, binary string, objects int) error {
			e, revisions, err := s.openStored(ctx, o, objects)
			if err != nil {
				return err
			}
			p, err := s.openProduct(ctx, o, binary, e, plain)
			if err != nil {
				return err
			}
			if _, err = s.keepList(ctx, p.endpoint, revisions); err != nil {
				return err
			}
			clients, err := listers(ctx, o, p.endpoint, configMapsURL, "", 1)
			if err != nil {
				return err
			}
			return s.addListers(o, name, p.Process, rested(clients))
		}
		for _, product := range s.products {
			if err := add(product.name, product.binary, s.size.objects[1]); err != nil {
				return o.end(err)
			}
		}
		if s.withPeers {
			return o.end(add(fewerObjects, s.products[0].binary, s.size.objects[0]))
		}
		return o.end(nil)
	}}
}
