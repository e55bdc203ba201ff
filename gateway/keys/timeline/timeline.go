// Package timeline remembers which revision etcd had at what time, in etcd itself: that of the newest write every ten seconds, in
// keys of the gateway's own. All gateways of an etcd keep one timeline.
package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sort"
	"time"

	"revtail/etcdstore"
)

const (
	// Prefix is what the keys of the points begin with. What follows is the time, so that the newest is the first.
	Prefix = "revtail/times/"

	// grain is how long after a point the next one is: time is cut into pieces of that length, and each has one point at most.
	grain = 10 * time.Second
	// pruneEvery is how often the oldest points are looked at.
	pruneEvery = 10 * time.Minute
	// maxPoints is how many points there are at most, about: then every other one of the older half goes.
	maxPoints = 10_000
	// deletesAtOnce is less than what etcd takes in a transaction.
	deletesAtOnce = 100
)

// Point says that etcd was at a revision at a time.
type Point struct {
	Time     time.Time          `json:"time"`
	Revision etcdstore.Revision `json:"revision"`
}

// BeforeError says that a time is before all that is remembered.
type BeforeError struct {
	Asked  time.Time
	Oldest *Point // nil: nothing is
}

func (e *BeforeError) Error() string {
	asked := e.Asked.UTC().Format(time.RFC3339)
	if e.Oldest == nil {
		return fmt.Sprintf("it is not known which revision etcd had at %s: no time is on record yet", asked)
	}
	return fmt.Sprintf("it is not known which revision etcd had at %s: the oldest time on record is %s, at revision %d",
		asked, e.Oldest.Time.UTC().Format(time.RFC3339), e.Oldest.Revision)
}

// Timeline reads and writes the points of a store.
type Timeline struct {
	store  etcdstore.Store
	logger *slog.Logger
	most   int // maxPoints; fewer in tests

	pruned time.Time // only Run's goroutine uses it
}

// New makes a timeline; Run keeps it.
func New(store etcdstore.Store, logger *slog.Logger) *Timeline {
	return &Timeline{store: store, logger: logger, most: maxPoints}
}

// At is the last point at or before a time: what etcd held then, but for at most the writes of some seconds. *BeforeError where
// there is none, and the errors of the store.
func (t *Timeline) At(ctx context.Context, when time.Time) (Point, error) {
	page, err := t.upTo(ctx, when, 2) // the first may be of the same piece of time, and later
	if err != nil {
		return Point{}, err
	}
	for _, kv := range page.KVs {
		if p, ok := parse(kv); ok && !p.Time.After(when) {
			return p, nil
		}
	}
	oldest, err := t.oldest(ctx)
	if err != nil {
		return Point{}, err
	}
	return Point{}, &BeforeError{when, oldest}
}

func (t *Timeline) oldest(ctx context.Context) (*Point, error) {
	page, err := t.store.List(ctx, Prefix, etcdstore.ListOptions{})
	if err != nil || len(page.KVs) == 0 {
		return nil, err
	}
	p, ok := parse(page.KVs[len(page.KVs)-1])
	if !ok {
		return nil, nil
	}
	return &p, nil
}

// upTo reads the newest points of a time and before.
func (t *Timeline) upTo(ctx context.Context, when time.Time, limit int) (etcdstore.Page, error) {
	return t.store.List(ctx, Prefix, etcdstore.ListOptions{After: keyOf(when.Add(grain)), Limit: limit})
}

// keyOf is the key of the piece of time that holds a moment.
func keyOf(when time.Time) string {
	return fmt.Sprintf("%s%016x", Prefix, math.MaxInt64-when.Unix()/int64(grain/time.Second))
}

func parse(kv etcdstore.KV) (p Point, ok bool) {
	err := json.Unmarshal(kv.Value, &p)
	return p, err == nil && p.Revision > 0
}

// Run makes points, for all gateways of the etcd or with them, until ctx ends. It writes nothing while nothing else is written.
func (t *Timeline) Run(ctx context.Context) {
	ticker := time.NewTicker(grain)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := t.record(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			t.logger.Warn("the revision of this time was not written down, trying again", "keys", Prefix, "error", err)
		}
		failing = err != nil
	}
}

// record makes a point, unless another gateway has made it, or nothing was written since the newest one.
func (t *Timeline) record(ctx context.Context) error {
	page, err := t.upTo(ctx, time.Now(), 1)
	if err != nil {
		return err
	}
	now := time.Now() // not earlier than the revision was read
	if page.Revision <= 1 || len(page.KVs) > 0 && (page.KVs[0].Modified == page.Revision || page.KVs[0].Key <= keyOf(now)) {
		return nil
	}
	value, err := json.Marshal(Point{Time: now.UTC(), Revision: page.Revision})
	if err != nil {
		return err
	}
	switch _, err = t.store.Create(ctx, keyOf(now), value); {
	case errors.Is(err, etcdstore.ErrExists):
		return nil // by another gateway
	case err != nil:
		return err
	case now.Sub(t.pruned) < pruneEvery:
		return nil
	}
	t.pruned = now
	return t.prune(ctx)
}

// prune deletes the points of revisions that etcd has compacted: nothing can be read there. Where there are too many points, the
// older ones become coarser.
func (t *Timeline) prune(ctx context.Context) error {
	page, err := t.store.List(ctx, Prefix, etcdstore.ListOptions{})
	if err != nil {
		return err
	}
	points := page.KVs
	held := sort.Search(len(points), func(i int) bool {
		p, ok := parse(points[i])
		return err == nil && (!ok || !t.holds(ctx, p.Revision, &err))
	})
	if err != nil {
		return err
	}
	drop := points[held:]
	if held > t.most {
		for i := held / 2; i < held; i += 2 {
			drop = append(drop, points[i])
		}
	}
	for len(drop) > 0 {
		var txn etcdstore.Txn
		for _, kv := range drop[:min(len(drop), deletesAtOnce)] {
			txn.Then = append(txn.Then, etcdstore.Op{Verb: etcdstore.Delete, Key: kv.Key})
		}
		if _, err := t.store.Transact(ctx, txn); err != nil {
			return err
		}
		drop = drop[len(txn.Then):]
	}
	return nil
}

// holds tells whether the state of a revision can be read.
func (t *Timeline) holds(ctx context.Context, at etcdstore.Revision, failure *error) bool {
	_, err := t.store.List(ctx, Prefix, etcdstore.ListOptions{At: at, Limit: 1, KeysOnly: true})
	var compacted *etcdstore.CompactedError
	if errors.As(err, &compacted) {
		return false
	}
	if err != nil {
		*failure = err
	}
	return true
}
