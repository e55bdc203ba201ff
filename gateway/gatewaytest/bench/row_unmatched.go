package main

import (
	"context"
	"fmt"
	"net/url"
)

// selection selects a different value for each watcher.
type selection struct {
	query  func(i int) url.Values                 // of the i-th watcher
	object func(i int) (key string, value []byte) // of the i-th event, which only the first watcher selects
}

// url returns the query of the i-th watcher.
func (s selection) url(i int, from int64) string {
	query := s.query(i)
	query.Set("watch", "1")
	query.Set("resourceVersion", fmt.Sprint(from))
	return configMapsURL + "?" + query.Encode()
}

func targetName(i int) string { return fmt.Sprintf("target-%d", i) }

// wanted returns the object of the i-th event if watchers select a target: many objects have it.
func wanted(i int) (string, []byte) {
	name := objectName(i % publishedObjects)
	return configMapsKey + name, configMap(name, targetName(0), i)
}

var selections = map[string]selection{
	"label": {func(i int) url.Values { return url.Values{"labelSelector": {"target=" + targetName(i)}} }, wanted},
	"field": {func(i int) url.Values { return url.Values{"fieldSelector": {"data.target=" + targetName(i)}} }, wanted},
	"name": {func(i int) url.Values { return url.Values{"fieldSelector": {"metadata.name=" + objectName(i)}} }, func(i int) (string, []byte) {
		return configMapsKey + objectName(0), configMap(objectName(0), targetName(0), i)
	}},
}

// oneWatcher is the contender with only the watcher that gets the events.
const oneWatcher = "one watcher"

// unmatchedRow measures the cost of watchers that select other objects: each event matches one of them.
func unmatchedRow(by string, figures []figure) row {
	return row{name: "unmatched-" + by, figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		add := func(name, binary string, watchers int) error {
			u, err := s.openUnmatched(ctx, o, binary, selections[by], watchers)
			if err == nil {
				o.add(contender{name: name, run: func(ctx context.Context) (sample, error) { return u.run(ctx, s.size.unmatched) }})
			}
			return err
		}
		for _, product := range s.products {
			if err := add(product.name, product.binary, s.size.selectors); err != nil {
				return o.end(err)
			}
		}
		if s.withPeers {
			return o.end(add(oneWatcher, s.products[0].binary, 1))
		}
		return o.end(nil)
	}}
}

// unmatched is a gateway with one watcher that gets the events, and many that do not.
type unmatched struct {
	fanOut
	others *fleet // nil: none
}

func (s *stage) openUnmatched(ctx context.Context, o *opening, binary string, sel selection, watchers int) (*unmatched, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	if _, err := e.load(ctx, publishedObjects, sel.object); err != nil {
		return nil, err
	}
	p, err := s.openProduct(ctx, o, binary, e, plain)
	if err != nil {
		return nil, err
	}
	from, err := e.revision(ctx)
	if err != nil {
		return nil, err
	}
	open := func(first, count int) (*fleet, error) {
		f, failed := openFleet(ctx, p.endpoint, watches{count: count, path: func(i int) string { return sel.url(first+i, from) }})
		if failed == nil {
			o.own(f.close)
		}
		return f, failed
	}
	u := &unmatched{fanOut: fanOut{server: p.Process, publisher: etcdPublisher{e, sel.object}}}
	if u.fleet, err = open(0, 1); err == nil && watchers > 1 {
		u.others, err = open(1, watchers-1)
	}
	return u, err
}

// run is a round: one watcher gets all events, and the others get none.
func (u *unmatched) run(ctx context.Context, l load) (sample, error) {
	got, err := u.fanOut.run(ctx, l)
	if err == nil && u.others != nil {
		err = u.others.check(nil)
	}
	return got, err
}
