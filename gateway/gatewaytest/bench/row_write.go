package main

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"revtail/gateway/gatewaytest/program"
)

// writeKind is the kind of the writes.
type writeKind string

const (
	creates writeKind = "create"
	updates writeKind = "update"
)

// objectsPerWriter is the number of objects that each writer updates in turn.
const objectsPerWriter = 8

// direct is the peer that writes to etcd without a gateway.
const direct = "etcd"

// bare is the peer that does nothing but HTTP and the transaction: what a write through any gateway takes at least.
const bare = "HTTP and a transaction"

// bareWatching is the peer that also gets the events of what it writes, as a gateway must that serves reads from memory.
const bareWatching = "HTTP, a transaction and its watch"

// embeddedRow compares writes through a gateway with an embedded etcd with writes to an etcd process.
func embeddedRow(kind writeKind, figures []figure) row {
	return row{name: string(kind) + "-embedded", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		for _, product := range s.products {
			p, e, err := s.startEmbedded(ctx, product.binary)
			if err != nil {
				return o.end(err)
			}
			o.own(e.close)
			w, err := s.openWriting(ctx, o, p, e, kind, "/registry")
			if err != nil {
				return o.end(err)
			}
			o.add(writingContender(product.name, w, s.size.writes))
		}
		if !s.withPeers {
			return o.end(nil)
		}
		e, err := s.startEtcd(ctx)
		if err != nil {
			return o.end(err)
		}
		o.own(e.close)
		o.add(writingContender(direct, directWriting(e, kind), s.size.writes))
		return o.end(nil)
	}}
}

func writingContender(name string, w *writing, d time.Duration) contender {
	return contender{name: name, run: func(ctx context.Context) (sample, error) { return w.run(ctx, d) }}
}

// writeRow compares writes through the gateway with writes to the same etcd.
func writeRow(kind writeKind, figures []figure) row {
	return row{name: string(kind), figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		e, err := s.startEtcd(ctx)
		if err != nil {
			return o.end(err)
		}
		o.own(e.close)
		for i, product := range s.products {
			prefix := fmt.Sprintf("/registry%d", i)
			p, err := s.openProduct(ctx, o, product.binary, e, plain, "--etcd-prefix", prefix)
			if err != nil {
				return o.end(err)
			}
			w, err := s.openWriting(ctx, o, p, e, kind, prefix)
			if err != nil {
				return o.end(err)
			}
			o.add(writingContender(product.name, w, s.size.writes))
		}
		if !s.withPeers {
			return o.end(nil)
		}
		o.add(writingContender(direct, directWriting(e, kind), s.size.writes))
		return o.end(s.addBareWritings(ctx, o, e, kind))
	}}
}

// addBareWritings adds the peers that do nothing else, without a watch and with one.
func (s *stage) addBareWritings(ctx context.Context, o *opening, e *etcd, kind writeKind) error {
	if err := s.addBareWriting(ctx, o, e, kind, bare, "/bare/"); err != nil {
		return err
	}
	return s.addBareWriting(ctx, o, e, kind, bareWatching, "/watched/", "-watch")
}

// addBareWriting adds one of them, whose keys have a prefix.
func (s *stage) addBareWriting(ctx context.Context, o *opening, e *etcd, kind writeKind, name, prefix string, flags ...string) error {
	p, err := s.startPeer(ctx, plain, append([]string{"gateway", "-etcd", e.endpoint, "-prefix", prefix}, flags...)...)
	if err != nil {
		return err
	}
	o.own(p.Stop)
	w := &writing{etcd: e, servers: []*program.Process{p.Process, e.Process}, adds: kind == creates, count: e.counter(prefix)}
	if err := w.openWriters(ctx, o, p.endpoint, kind); err != nil {
		return err
	}
	o.add(writingContender(name, w, s.size.writes))
	return nil
}

func (s *stage) openWriting(ctx context.Context, o *opening, p *product, e *etcd, kind writeKind, prefix string) (w *writing, err error) {
	w = &writing{etcd: e, servers: []*program.Process{p.Process}, adds: kind == creates, count: e.counter(prefix + "/configmaps/default/")}
	if e.Process != p.Process {
		w.servers = append(w.servers, e.Process)
	}
	if err := w.openWriters(ctx, o, p.endpoint, kind); err != nil {
		return nil, err
	}
	w.watch, err = openProductFleet(ctx, e, p, jsonLines, 1)
	if err == nil {
		o.own(w.watch.close)
	}
	return w, err
}

// openWriters opens the clients.
func (w *writing) openWriters(ctx context.Context, o *opening, at endpoint, kind writeKind) error {
	for i := range writers {
		c, err := dial(ctx, at)
		if err != nil {
			return err
		}
		o.own(c.close)
		one, err := newWriter(c, kind, i)
		if err != nil {
			return err
		}
		w.writers, w.clients = append(w.writers, one), append(w.clients, c)
	}
	return nil
}

// newWriter returns a writer that uses a client.
func newWriter(c *client, kind writeKind, i int) (write, error) {
	if kind == updates {
		return newUpdates(c, i)
	}
	return func(_ context.Context, n int) (int64, error) { return post(c, fmt.Sprintf("created-%d", n), n) }, nil
}

func post(c *client, name string, version int) (int64, error) {
	return revisionOf(c.send("POST", configMapsURL, postedConfigMap(name, version)))
}

// revisionOf returns the resourceVersion of the object in a response.
func revisionOf(a answer, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	revision, _ := revisionAfter(a.body, resourceVersion)
	if revision == 0 {
		return 0, fmt.Errorf("an answer without a resourceVersion: %.300s", a.body)
	}
	return revision, nil
}

// newUpdates creates a writer's objects, and returns a function that updates them in turn, each with its resourceVersion.
func newUpdates(c *client, writer int) (write, error) {
	var (
		names     [objectsPerWriter]string
		revisions [objectsPerWriter]int64
		err       error
	)
	for i := range names {
		names[i] = fmt.Sprintf("updated-%d-%d", writer, i)
		if revisions[i], err = post(c, names[i], 0); err != nil {
			return nil, err
		}
	}
	next := 0
	return func(_ context.Context, n int) (int64, error) {
		i := next % objectsPerWriter
		next++
		body := withRevision(postedConfigMap(names[i], n), revisions[i])
		revisions[i], err = revisionOf(c.send("PUT", configMapsURL+"/"+names[i], body))
		return revisions[i], err
	}, nil
}

// directWriting writes values of the same size under a prefix that no gateway watches.
func directWriting(e *etcd, kind writeKind) *writing {
	const prefix = "/direct/"
	w := &writing{etcd: e, servers: []*program.Process{e.Process}, adds: kind == creates, count: e.counter(prefix)}
	for i := range writers {
		w.writers = append(w.writers, func(ctx context.Context, n int) (int64, error) {
			name := fmt.Sprintf("created-%d", n)
			if kind == updates {
				name = fmt.Sprintf("updated-%d-%d", i, n%objectsPerWriter)
			}
			return e.put(ctx, prefix+name, configMap(name, "all", n))
		})
	}
	return w
}

// counter returns a function that counts the keys with a prefix, which ends with a slash.
func (e *etcd) counter(prefix string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		answer, err := e.kv.Range(ctx, &pb.RangeRequest{Key: []byte(prefix), RangeEnd: rangeEnd(prefix), CountOnly: true})
		if err != nil {
			return 0, err
		}
		return answer.Count, nil
	}
}
