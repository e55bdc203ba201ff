// Package timeline records which revision etcd had at which time: every ten seconds it writes the newest revision into a key of the
// gateway's own. All gateways of an etcd share one timeline.
package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sort"
	"time"

	"revtail/etcdstore"
)

const (
	// Prefix is the prefix of the keys of all points. The time follows, counted backwards, so that the newest point is the first.
	Prefix = "revtail/times/"

	// interval divides time: each interval has at most one point.
	interval = 10 * time.Second
	// pruneInterval is how often the oldest points are pruned.
	pruneInterval = 10 * time.Minute
	// maxPoints is about how many points there are at most. Beyond it, every other point of the older half is deleted.
	maxPoints = 10_000
	// maxDeletes is how many points one transaction deletes, which is less than etcd allows.
	maxDeletes = 100
)

// Point is the revision that etcd had at a time.
type Point struct {
	Time     time.Time          `json:"time"`
	Revision etcdstore.Revision `json:"revision"`
}

// BeforeError is the error for a time before the oldest point.
type BeforeError struct {
	Requested time.Time
	Oldest    *Point // nil: there is no point yet
}

func (e *BeforeError) Error() string {
	requested := e.Requested.UTC().Format(time.RFC3339)
	if e.Oldest == nil {
		return fmt.Sprintf("it is not known which revision etcd had at %s: no time is on record yet", requested)
	}
	return fmt.Sprintf("it is not known which revision etcd had at %s: the oldest time on record is %s, at revision %d",
		requested, e.Oldest.Time.UTC().Format(time.RFC3339), e.Oldest.Revision)
}

// Recorder knows when each event of the keys with a prefix arrived, as a journal does. At returns the last one up to a time, and Oldest the revision
// and the time at which the record begins; false: it is not known.
type Recorder interface {
	At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error)
	Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error)
}

// Timeline reads and writes the points of a store.
type Timeline struct {
	store    etcdstore.Store
	recorder Recorder // asked first; nil: there is none
	logger   *slog.Logger
	max      int // maxPoints; fewer in tests

	pruned time.Time // only Run's goroutine uses it
}

// New returns the timeline of a store. Run records it. A recorder is asked first, because its times are exact; nil: there is none.
func New(store etcdstore.Store, recorder Recorder, logger *slog.Logger) *Timeline {
	return &Timeline{store: store, recorder: recorder, logger: logger, max: maxPoints}
}

// At returns the revision of the keys with some prefixes at a time: of the last event before it if a recorder has them all, else the last point at or
// before it, which lacks the writes of at most some seconds. The error is a *BeforeError if neither is known, or one of the store.
func (t *Timeline) At(ctx context.Context, prefixes []string, when time.Time) (Point, error) {
	if p, ok, err := t.recorded(prefixes, when); ok || err != nil {
		return p, err
	}
	page, err := t.upTo(ctx, when, 2) // the first may be later, in the same interval
	if err != nil {
		return Point{}, err
	}
	for _, kv := range page.KVs {
		if p, ok := parse(kv); ok && !p.Time.After(when) {
			p.Time = p.Time.Truncate(time.Second) // an exact one would promise more than is known
			return p, nil
		}
	}
	oldest, err := t.oldest(ctx)
	if err != nil {
		return Point{}, err
	}
	for _, prefix := range prefixes {
		if t.recorder == nil {
			break
		}
		revision, began, ok, err := t.recorder.Oldest(prefix)
		if err != nil {
			return Point{}, err
		}
		if ok && !began.IsZero() && (oldest == nil || began.Before(oldest.Time)) {
			oldest = &Point{Time: began, Revision: revision}
		}
	}
	return Point{}, &BeforeError{when, oldest}
}

// recorded asks the recorder for each prefix; false: it lacks one of them.
func (t *Timeline) recorded(prefixes []string, when time.Time) (newest Point, ok bool, err error) {
	if t.recorder == nil {
		return Point{}, false, nil
	}
	for _, prefix := range prefixes {
		revision, arrived, known, err := t.recorder.At(prefix, when)
		if err != nil || !known {
			return Point{}, false, err
		}
		if revision > newest.Revision {
			newest = Point{Time: arrived, Revision: revision}
		}
	}
	return newest, newest.Revision > 0, nil
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

// upTo reads the newest points up to the end of the interval of a time.
func (t *Timeline) upTo(ctx context.Context, when time.Time, limit int) (etcdstore.Page, error) {
	return t.store.List(ctx, Prefix, etcdstore.ListOptions{After: keyOf(when.Add(interval)), Limit: limit})
}

// keyOf returns the key of the interval of a time.
func keyOf(when time.Time) string {
	return fmt.Sprintf("%s%016x", Prefix, math.MaxInt64-when.Unix()/int64(interval/time.Second))
}

func parse(kv etcdstore.KV) (p Point, ok bool) {
	err := json.Unmarshal(kv.Value, &p)
	return p, err == nil && p.Revision > 0
}

// Run records points until ctx ends. It writes nothing while nothing else is written.
func (t *Timeline) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
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

// record writes a point, unless another gateway has written it, or nothing else was written since the newest point.
func (t *Timeline) record(ctx context.Context) error {
	page, err := t.upTo(ctx, time.Now(), 1)
	if err != nil {
		return err
	}
	now := time.Now() // after the revision was read
	if page.Revision <= 1 || len(page.KVs) > 0 && (page.KVs[0].Modified == page.Revision || page.KVs[0].Key <= keyOf(now)) {
		return nil
	}
	value, err := json.Marshal(Point{Time: now.UTC(), Revision: page.Revision})
	if err != nil {
		return err
	}
	switch _, err = t.store.Create(ctx, keyOf(now), value); {
	case errors.Is(err, etcdstore.ErrExists):
		return nil // another gateway has written it
	case err != nil:
		return err
	case now.Sub(t.pruned) < pruneInterval:
		return nil
	}
	t.pruned = now
	return t.prune(ctx)
}

// prune deletes the points of compacted revisions, whose state cannot be read. If there are too many points, it thins out the older
// half.
func (t *Timeline) prune(ctx context.Context) error {
	page, err := t.store.List(ctx, Prefix, etcdstore.ListOptions{})
	if err != nil {
		return err
	}
	points := page.KVs
	held := sort.Search(len(points), func(i int) bool {
		p, ok := parse(points[i])
		if !ok || err != nil {
			return !ok
		}
		_, err = t.store.List(ctx, Prefix, etcdstore.ListOptions{At: p.Revision, Limit: 1, KeysOnly: true})
		_, compacted := errors.AsType[*etcdstore.CompactedError](err)
		if compacted {
			err = nil
		}
		return compacted
	})
	if err != nil {
		return err
	}
	drop := points[held:]
	if held > t.max {
		for i := held / 2; i < held; i += 2 {
			drop = append(drop, points[i])
		}
	}
	for some := range slices.Chunk(drop, maxDeletes) {
		var txn etcdstore.Txn
		for _, kv := range some {
			txn.Then = append(txn.Then, etcdstore.Op{Verb: etcdstore.Delete, Key: kv.Key})
		}
		if _, err := t.store.Transact(ctx, txn); err != nil {
			return err
		}
	}
	return nil
}
