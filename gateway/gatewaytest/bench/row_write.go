package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// writeKind is the kind of the writes.
type writeKind string

const (
	creates writeKind = "create"
	updates writeKind = "update"
)

// objectsPerWriter is the number of objects that each writer updates in turn.
const objectsPerWriter = 8

// write makes the n-th write, as one of the writers, and returns the revision.
type write func(ctx context.Context, n int) (int64, error)

// writing is a server, and clients that write to it: the first one also writes alone.
type writing struct {
	writers []write
	watch   *fleet // gets every write; nil: none
	etcd    *etcd
	servers []*process                               // whose cost is measured
	count   func(ctx context.Context) (int64, error) // the number of objects
	adds    bool                                     // each write creates an object
	turn    int                                      // of the next write; only grows
}

// run writes with all writers at once, then with one.
func (w *writing) run(ctx context.Context, d time.Duration) (sample, error) {
	base, err := w.etcd.revision(ctx)
	if err != nil {
		return nil, err
	}
	const most = 1 << 19 // more writes than any round makes
	t := newTracker(base, most, 1)
	if w.watch != nil {
		w.watch.track(t)
	}
	before, err := w.count(ctx)
	if err != nil {
		return nil, err
	}
	used, err := w.cpu()
	if err != nil {
		return nil, err
	}
	all, took, err := w.writeFor(ctx, w.writers, d)
	if err != nil {
		return nil, err
	}
	usedThen, err := w.cpu()
	if err != nil {
		return nil, err
	}
	alone, _, err := w.writeFor(ctx, w.writers[:1], d/2)
	if err != nil {
		return nil, err
	}
	if err := w.check(ctx, t, before, slices.Concat(all.revisions, alone.revisions)); err != nil {
		return nil, err
	}
	slices.Sort(alone.took)
	slices.Sort(all.took)
	got := sample{
		"rate": float64(len(all.revisions)) / took.Seconds(), "p50": percentile(alone.took, 50), "p50-64": percentile(all.took, 50),
	}
	for i, server := range w.servers {
		each := (usedThen[i] - used[i]).Seconds() * 1e6 / float64(len(all.revisions))
		got["cpu"] += each
		got["cpu-"+server.name] = each
	}
	return got, nil
}

// cpu returns the processor time of each of the servers.
func (w *writing) cpu() ([]time.Duration, error) {
	used := make([]time.Duration, len(w.servers))
	var err error
	for i, server := range w.servers {
		if used[i], err = server.cpu(); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// check checks that every acknowledged write is stored, and that the watch got each once and in order.
func (w *writing) check(ctx context.Context, t *tracker, before int64, revisions []int64) error {
	after, err := w.count(ctx)
	if err != nil {
		return err
	}
	if w.adds && after-before != int64(len(revisions)) {
		return fmt.Errorf("%d writes were acknowledged, and %d objects are new", len(revisions), after-before)
	}
	if w.watch == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := t.reach(ctx, int64(len(revisions))); err != nil {
		return err
	}
	return w.watch.check(revisions)
}

// written is the result of writes in a duration.
type written struct {
	revisions []int64
	took      []float64 // milliseconds
}

func (w *writing) writeFor(ctx context.Context, writers []write, d time.Duration) (written, time.Duration, error) {
	var (
		running sync.WaitGroup
		start   = time.Now()
		parts   = make([]written, len(writers))
		errs    = make([]error, len(writers))
		turns   atomic.Int64
	)
	turns.Store(int64(w.turn))
	for i, write := range writers {
		running.Go(func() {
			for time.Since(start) < d && errs[i] == nil {
				begun := time.Now()
				var revision int64
				if revision, errs[i] = write(ctx, int(turns.Add(1))); errs[i] == nil {
					parts[i].took = append(parts[i].took, time.Since(begun).Seconds()*1000)
					parts[i].revisions = append(parts[i].revisions, revision)
				}
			}
		})
	}
	running.Wait()
	w.turn = int(turns.Load())
	var sum written
	for _, part := range parts {
		sum.took = append(sum.took, part.took...)
		sum.revisions = append(sum.revisions, part.revisions...)
	}
	return sum, time.Since(start), firstError(errs)
}

// direct is the peer that writes to etcd without a gateway.
const direct = "etcd"

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
		if s.withPeers {
			o.add(writingContender(direct, directWriting(e, kind), s.size.writes))
		}
		return o.end(nil)
	}}
}

func (s *stage) openWriting(ctx context.Context, o *opening, p *product, e *etcd, kind writeKind, prefix string) (w *writing, err error) {
	w = &writing{etcd: e, servers: []*process{p.process}, adds: kind == creates, count: e.counter(prefix + "/configmaps/")}
	if e.process != p.process {
		w.servers = append(w.servers, e.process)
	}
	for i := range writers {
		one, failed := newWriter(ctx, o, p, kind, i)
		if failed != nil {
			return nil, failed
		}
		w.writers = append(w.writers, one)
	}
	w.watch, err = openProductFleet(ctx, e, p, jsonLines, 1)
	if err == nil {
		o.own(w.watch.close)
	}
	return w, err
}

// newWriter returns a client that writes.
func newWriter(ctx context.Context, o *opening, p *product, kind writeKind, i int) (write, error) {
	c, err := dial(ctx, p.endpoint)
	if err != nil {
		return nil, err
	}
	o.own(c.close)
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
	w := &writing{etcd: e, servers: []*process{e.process}, adds: kind == creates, count: e.counter(prefix)}
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
