package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// pageOfObjects is the limit of a list by pages, as client-go's reflectors ask for it.
const pageOfObjects = 500

// eventWatchers is how many clients watch while the cost of an event beside many objects is measured.
const eventWatchers = 100

var stateMetrics = []metric{
	{"start", "start-up", "s"}, {"memory", "memory", "MiB"}, {"list", "a list", "ms"}, {"first", "its first byte", "ms"},
	{"list CPU", "CPU of a list", "µs/object"}, {"page CPU", "of pages of 500", "µs/object"}, {"stream CPU", "of initial events", "µs/object"},
	{"event", "CPU an event to 100 watchers", "µs"}, {"p50", "p50", "ms"}, {"p99", "p99", "ms"}, {"max", "the slowest", "ms"},
}

// growState measures a gateway that starts before an etcd with many objects, lists them and delivers events to watchers of all of them.
func (s *stage) growState(ctx context.Context, objects int) (sample, error) {
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	e, revisions, err := s.openStored(ctx, o, objects)
	if err != nil {
		return nil, err
	}
	p, err := s.openProduct(ctx, o, s.products[0].binary, e, plain)
	if err != nil {
		return nil, err
	}
	memory, err := p.Settled(ctx, s.size.settle)
	if err != nil {
		return nil, err
	}
	if _, err := s.keepList(ctx, p.endpoint, revisions); err != nil {
		return nil, err
	}
	got := sample{"start": p.startUp.Seconds(), "memory": float64(memory) / (1 << 20)}
	for _, measure := range []func(context.Context, *opening, *product, []int64, sample) error{
		measureLists, measurePages, measureInitialEvents,
	} {
		if err := measure(ctx, o, p, revisions, got); err != nil {
			return nil, err
		}
	}
	return got, s.measureEvents(ctx, o, e, p, got)
}

// measureLists lists all objects for two seconds, once at least.
func measureLists(ctx context.Context, o *opening, p *product, revisions []int64, got sample) error {
	client, err := listers(ctx, o, p.endpoint, configMapsURL, "", 1)
	if err != nil {
		return err
	}
	l, err := openListing(p.Process, client)
	if err != nil {
		return err
	}
	of, err := l.run(2 * time.Second)
	if err != nil {
		return err
	}
	got["first"], got["list"] = of["first"], float64(l.want.bytes)/1e3/of["rate"]
	got["list CPU"] = of["each"] * 1e3 / float64(len(revisions))
	return nil
}

// measurePages lists all objects once, by pages.
func measurePages(ctx context.Context, o *opening, p *product, revisions []int64, got sample) error {
	c, err := dial(ctx, p.endpoint)
	if err != nil {
		return err
	}
	o.own(c.close)
	before, err := p.CPU()
	if err != nil {
		return err
	}
	objects := 0
	for token, more := "", true; more; {
		page, failed := c.send("GET", fmt.Sprintf("%s?limit=%d&continue=%s", configMapsURL, pageOfObjects, token), nil)
		if failed != nil {
			return failed
		}
		objects += bytes.Count(page.body, []byte(`"kind":"ConfigMap"`))
		token, more = continueToken(page.body)
	}
	if objects != len(revisions) {
		return fmt.Errorf("the pages have %d objects, want %d", objects, len(revisions))
	}
	after, err := p.CPU()
	got["page CPU"] = (after - before).Seconds() * 1e6 / float64(objects)
	return err
}

// continueToken returns the token of the next page; more is false for the last page.
func continueToken(list []byte) (token string, more bool) {
	_, after, more := bytes.Cut(list[:min(len(list), 1024)], []byte(`"continue":"`))
	if !more {
		return "", false
	}
	before, _, more := bytes.Cut(after, []byte(`"`))
	return string(before), more && len(before) > 0
}

// measureInitialEvents gets all objects once, as the initial events of a watch.
func measureInitialEvents(ctx context.Context, _ *opening, p *product, revisions []int64, got sample) error {
	st := &states{server: p.Process, endpoint: p.endpoint, watchers: 1, want: sequenceOf(revisions)}
	of, err := st.run(ctx)
	if err != nil {
		return err
	}
	got["stream CPU"] = of["cpu"]
	return nil
}

// measureEvents delivers events, 100 a second, to watchers.
func (s *stage) measureEvents(ctx context.Context, o *opening, e *etcd, p *product, got sample) error {
	f, err := openProductFleet(ctx, e, p, jsonLines, eventWatchers)
	if err != nil {
		return err
	}
	o.own(f.close)
	fan := &fanOut{server: p.Process, publisher: etcdPublisher{e, published}, fleet: f}
	of, err := fan.run(ctx, load{events: 1000, rate: 100})
	if err != nil {
		return err
	}
	got["event"], got["p50"], got["p99"], got["max"] = of["cpu"]*eventWatchers, of["p50"], of["p99"], of["max"]
	return nil
}
