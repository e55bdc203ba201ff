package etcdstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// marksPerHistory is the number of marks per history. The store keeps between one history and one mark more.
const marksPerHistory = 10

// compactor compacts the history of the store. If several run, in any number of processes, one of them does the work: in each interval,
// the first that replaces the marks that it read one interval ago, by compare and set.
//
// A history is a number of marks, not a time: two marks are at least one interval of a monotonic clock apart, so that ten marks are
// a history even if wall clocks are wrong. The marks are in the store, so that a gateway with frequent restarts compacts too.
type compactor struct {
	store   Store
	permit  func(context.Context) error // an error: do not write or compact now
	compact func(context.Context, Revision) error
	history time.Duration
	log     *slog.Logger
	failed  func() // counts failures

	seen Revision // of the marks at the last read; zero: no marks; negative: not read yet
}

// marks is the value of the bookkeeping key.
type marks struct {
	Time      time.Time  `json:"time"`      // of the newest mark, for people
	History   string     `json:"history"`   // of the writer, which determines the interval of the marks
	Revisions []Revision `json:"revisions"` // of the store at each mark, oldest first
}

// Compact compacts revisions older than history until ctx ends, and returns ctx.Err(). The store keeps between history and a tenth
// more. Any number of gateways may run it on the same etcd: one does the work, and another takes over if that one ends. No other program
// should compact this etcd. After each tenth of history, Compact calls permit and writes one key, revtail/compactor. An error of permit
// is the reason to skip the interval. Compact logs other errors to log, which must not be nil, and tries again. history must be positive.
func (e *Etcd) Compact(ctx context.Context, history time.Duration, permit func(context.Context) error, log *slog.Logger) error {
	c := &compactor{store: e, permit: permit, compact: e.compactTo, history: history, log: log, failed: func() { e.compactions.failed.Add(1) }}
	return c.run(ctx)
}

// compactTo compacts etcd.
func (e *Etcd) compactTo(ctx context.Context, rev Revision) error {
	bound, cancel := e.bound(ctx)
	defer cancel()
	if _, err := e.kv.Compact(bound, &pb.CompactionRequest{Revision: int64(rev)}); err != nil {
		err = e.toError(ctx, err, rev, false)
		if errors.Is(err, ErrDenied) {
			err = fmt.Errorf("%w: a compaction needs a user with the role root: leave out --history, and let etcd compact (--auto-compaction-retention)", err)
		}
		return fmt.Errorf("compact to %d: %w", rev, err)
	}
	e.compactions.done.Add(1)
	return nil
}

// Compactions returns the number of successful and of failed compactions of this process. Of several gateways, the one whose numbers
// grow does the work.
func (e *Etcd) Compactions() (done, failed uint64) {
	return e.compactions.done.Load(), e.compactions.failed.Load()
}

func (c *compactor) run(ctx context.Context) error {
	interval := c.history / marksPerHistory
	if interval <= 0 {
		return fmt.Errorf("%w: a history of %s is too short", ErrInvalid, c.history)
	}
	c.seen = -1
	if kv, _, err := c.store.Get(ctx, bookkeepingKey); err == nil || errors.Is(err, ErrNotFound) {
		c.seen = kv.Modified
	}
	refused := false
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := c.permit(ctx); err != nil {
			if ctx.Err() == nil && !refused {
				c.log.Warn("history is not compacted", "reason", err)
			}
			c.seen, refused = -1, true
			continue
		}
		refused = false
		if err := c.mark(ctx); err != nil && ctx.Err() == nil {
			c.failed()
			c.log.Warn("history was not compacted, the next attempt is after an interval", "interval", interval.String(), "error", err)
		}
	}
}

// mark adds a mark, unless another process did since the last call, and compacts to the mark that is one history old.
func (c *compactor) mark(ctx context.Context) error {
	kv, now, err := c.store.Get(ctx, bookkeepingKey)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if kv.Modified != c.seen {
		c.seen = kv.Modified
		return nil
	}
	next := marks{Time: time.Now().UTC(), History: c.history.String(), Revisions: append(c.marksOf(kv, now), now)}
	if n := len(next.Revisions); n > marksPerHistory+1 {
		next.Revisions = next.Revisions[n-marksPerHistory-1:]
	}
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	result, err := c.store.Transact(ctx, Txn{
		If:   []Condition{{Key: bookkeepingKey, Of: OfModified, Number: int64(kv.Modified)}}, // zero: the key does not exist
		Then: []Op{{Verb: Put, Key: bookkeepingKey, Value: value}},
	})
	if c.seen = result.Revision; err != nil || !result.Succeeded {
		c.seen = -1 // another process was faster, or may have been: read the marks next time
		return err
	}
	if len(next.Revisions) <= marksPerHistory {
		return nil
	}
	return c.compactUpTo(ctx, next.Revisions[0])
}

// marksOf returns the valid marks in kv. Marks for a shorter history are invalid, because their interval is too short; so are marks
// after the current revision, which a restored etcd has lost.
func (c *compactor) marksOf(kv KV, now Revision) []Revision {
	if kv.Modified == 0 {
		return nil
	}
	var m marks
	err := json.Unmarshal(kv.Value, &m)
	history, badHistory := time.ParseDuration(m.History)
	switch {
	case err != nil, badHistory != nil:
		c.log.Warn("the marks of the compactor cannot be decoded: starting again without them", "key", bookkeepingKey)
		return nil
	case history < c.history, !slices.IsSorted(m.Revisions), len(m.Revisions) > 0 && m.Revisions[len(m.Revisions)-1] > now:
		return nil
	}
	return m.Revisions
}

func (c *compactor) compactUpTo(ctx context.Context, rev Revision) error {
	err := c.compact(ctx, rev)
	if _, done := errors.AsType[*CompactedError](err); err != nil && !done { // done: no writes in an interval, or by another program
		return err
	}
	c.log.Debug("compacted", "revision", rev)
	return nil
}
