package etcdstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// marksPerHistory is how many marks a history is long. What is kept is between one history and a mark more.
const marksPerHistory = 10

// compactor keeps the store's history short. However many of them run, in however many processes, one does the work: each
// interval the one who first overwrites the marks, by compare and set against what it saw an interval ago.
//
// Marks are counted, and time is only ever waited for: between two of them lies at least an interval of somebody's
// monotonic clock, so ten of them are a history, whatever the wall clocks say. They outlive the processes, so that a
// gateway which is often restarted compacts too.
type compactor struct {
	store   Store
	permit  func(context.Context) error // an error: nothing is to be written or compacted now
	compact func(context.Context, Revision) error
	history time.Duration
	log     *slog.Logger
	failed  func() // is told of each failure

	seen Revision // of the marks, when last read; zero: there were none; negative: not read yet
}

// marks is the value of the bookkeeping key.
type marks struct {
	Time      time.Time  `json:"time"`      // of the newest mark, for people to read
	History   string     `json:"history"`   // how long the history of the one who wrote them is: how far apart they are
	Revisions []Revision `json:"revisions"` // of the store at each mark, oldest first
}

// Compact drops what is older than history, until ctx ends; then it returns ctx.Err(). What is kept is between history and
// a tenth more. It may run in any number of gateways on the same etcd: one of them does the work and the next takes
// over, but nothing else should compact this etcd. It writes one key, revtail/compactor, every tenth of history, for the
// first time after one such interval. permit is asked each time before that; its error is the reason to do nothing. Failures are logged, to
// log, which must not be nil, and tried again. A history that is not positive is an error.
func (e *Etcd) Compact(ctx context.Context, history time.Duration, permit func(context.Context) error, log *slog.Logger) error {
	c := &compactor{store: e, permit: permit, compact: e.compactTo, history: history, log: log, failed: func() { e.compactions.failed.Add(1) }}
	return c.run(ctx)
}

// compactTo is etcd's compaction.
func (e *Etcd) compactTo(ctx context.Context, rev Revision) error {
	bound, cancel := e.bound(ctx)
	defer cancel()
	if _, err := e.kv.Compact(bound, &pb.CompactionRequest{Revision: int64(rev)}); err != nil {
		return fmt.Errorf("compact to %d: %w", rev, e.toError(ctx, err, rev, false))
	}
	e.compactions.done.Add(1)
	return nil
}

// compactions is how often this process has compacted.
type compactions struct{ done, failed atomic.Uint64 }

// Compactions is how often this process has compacted, and how often it has failed in that. Where several gateways share the work,
// the one whose number grows does it.
func (e *Etcd) Compactions() (done, failed uint64) {
	return e.compactions.done.Load(), e.compactions.failed.Load()
}

func (c *compactor) run(ctx context.Context) error {
	interval := c.history / marksPerHistory
	if interval <= 0 {
		return fmt.Errorf("%w: a history of %s cannot be kept", ErrInvalid, c.history)
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
			c.log.Warn("history was not compacted, the next attempt is after an interval", "interval", interval, "error", err)
		}
	}
}

// mark adds a mark, unless somebody else did since the last call, and compacts to the one that is a history old.
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
	switch c.seen, err = c.write(ctx, kv, next); {
	case errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		c.seen = -1 // somebody else was faster: look at theirs next time
		return nil
	case err != nil:
		c.seen = -1
		return err
	case len(next.Revisions) <= marksPerHistory:
		return nil
	}
	return c.compactUpTo(ctx, next.Revisions[0])
}

// write replaces the marks in kv, which may not exist yet.
func (c *compactor) write(ctx context.Context, kv KV, m marks) (Revision, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	if kv.Modified == 0 {
		return c.store.Create(ctx, bookkeepingKey, value)
	}
	return c.store.Update(ctx, bookkeepingKey, value, kv.Modified)
}

// marksOf are the marks in kv that can be counted on: not those that were made for a shorter history, and so are too close
// to each other, nor those of a future that a restored etcd has lost.
func (c *compactor) marksOf(kv KV, now Revision) []Revision {
	if kv.Modified == 0 {
		return nil
	}
	var m marks
	err := json.Unmarshal(kv.Value, &m)
	history, badHistory := time.ParseDuration(m.History)
	switch {
	case err != nil, badHistory != nil:
		c.log.Warn("the compactor's marks cannot be read: beginning anew", "key", bookkeepingKey)
		return nil
	case history < c.history, !slices.IsSorted(m.Revisions), len(m.Revisions) > 0 && m.Revisions[len(m.Revisions)-1] > now:
		return nil
	}
	return m.Revisions
}

func (c *compactor) compactUpTo(ctx context.Context, rev Revision) error {
	err := c.compact(ctx, rev)
	var done *CompactedError
	if err != nil && !errors.As(err, &done) { // else nothing was written in an interval, or somebody compacts further
		return err
	}
	c.log.Debug("compacted", "revision", rev)
	return nil
}
