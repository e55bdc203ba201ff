package watchcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

const (
	// idleProgressPeriod is the time between progress requests for a quiet watch. After silenceTimeout, three unanswered requests,
	// the watch counts as dead.
	idleProgressPeriod = 5 * time.Second
	silenceTimeout     = 15 * time.Second
	// trimPeriod is the time between trims of the log: events stay in it for a minute at least, unless it is full.
	trimPeriod = time.Minute
	// lookBack is how many revisions before the state of a fill the log gets, so that clients resume in memory after a restart.
	lookBack = maxEvents
)

var errOutOfOrder = errors.New("the watch broke the order of revisions")

// Run keeps the cache up to date until ctx ends, and returns nil when all its goroutines have ended. It logs the errors of etcd
// and tries again. It is called once.
func (c *Cache) Run(ctx context.Context) error {
	defer c.stop()
	defer c.startLiveness()()
	var others sync.WaitGroup
	others.Go(func() { c.checker.Run(ctx) })
	others.Go(func() { c.fanout.Run(ctx) })
	others.Go(func() { c.reads.Run(ctx) })
	defer others.Wait()
	r := &reflector{cache: c, mirror: newMirror()}
	var backoff history.Backoff
	for ctx.Err() == nil {
		followed, err := r.listAndWatch(ctx)
		if ctx.Err() != nil {
			break
		}
		if followed {
			backoff.Reset()
		}
		if errors.Is(err, errReadable) {
			c.config.Logger.Info("the cache is filled anew", "prefix", c.config.Prefix, "reason", err)
			continue
		}
		c.mu.Lock()
		c.counters.WatchLosses++
		c.mu.Unlock()
		pause := backoff.Next()
		level := slog.LevelWarn
		if errors.Is(err, etcdstore.ErrUnavailable) {
			level = slog.LevelDebug // package monitor reports that, once for all caches
		}
		c.config.Logger.Log(ctx, level, "watch cache lost etcd, trying again", "prefix", c.config.Prefix, "error", err, "pause", pause)
		history.Sleep(ctx, pause+rand.N(pause)) // jitter, because many caches lose etcd at the same moment
	}
	return nil
}

// reflector copies etcd's state into a cache, as its only writer.
type reflector struct {
	cache    *Cache
	mirror   *mirror
	identity uint64             // of the store's history at the fill
	since    etcdstore.Revision // revision of the last change in the mirror
	through  etcdstore.Revision // the mirror is complete up to here; zero: it must be filled
}

// listAndWatch fills the mirror if needed and watches etcd until an error. followed reports whether the watch delivered anything.
func (r *reflector) listAndWatch(ctx context.Context) (followed bool, err error) {
	if r.through != 0 {
		if err := r.cache.checkHistory(ctx, r.identity); err != nil {
			return false, r.checkMismatch(err)
		}
		r.cache.checker.Reopened()
	}
	if r.through == 0 {
		if err = r.fill(ctx); err != nil {
			return false, fmt.Errorf("fill: %w", err)
		}
		defer r.serve(ctx)()
	}
	followed, err = r.watch(ctx)
	if _, compacted := errors.AsType[*etcdstore.CompactedError](err); compacted || errors.Is(err, errOutOfOrder) || errors.Is(err, errReadable) {
		r.through = 0 // events are lost, or the mirror is wrong or lacks values
	}
	return followed, r.checkMismatch(err)
}

// publish makes the cache serve the mirror. The log begins after it.
func (r *reflector) publish() {
	floor := r.through
	if floor == 1 {
		floor = 0 // etcd has no write yet, so the log holds everything
	}
	r.cache.markLive()
	r.cache.replace(r.mirror.snapshot(r.since, r.through), floor)
}

// checkMismatch starts anew after a history.ErrMismatch. It returns the error.
func (r *reflector) checkMismatch(err error) error {
	if errors.Is(err, history.ErrMismatch) {
		r.through = 0
		r.cache.invalidate()
	}
	return err
}

// watch applies the batches of etcd's watch until it fails. The mirror has the previous objects.
func (r *reflector) watch(ctx context.Context) (followed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watcher := r.cache.config.Store.Watch(ctx, r.cache.config.Prefix, etcdstore.WatchOptions{After: r.through})
	var asking sync.WaitGroup
	asking.Go(func() {
		if err := r.cache.requestProgress(ctx, watcher, r.identity); err != nil {
			cancel(err)
		}
	})
	asking.Go(func() {
		if err := r.cache.awaitReadable(ctx); err != nil {
			cancel(err)
		}
	})
	defer func() {
		if cause := context.Cause(ctx); errors.Is(cause, history.ErrMismatch) || errors.Is(cause, errReadable) {
			err = cause
		}
		cancel(nil)
		_ = watcher.Close() // Next has returned its error
		asking.Wait()
	}()
	quiet := silenceTimeout
	for {
		batch, err := history.NextWithin(ctx, watcher, quiet)
		if errors.Is(err, history.ErrSilent) {
			if quiet, err = r.checkSilence(ctx, watcher, quiet); err != nil {
				return followed, err
			}
			continue
		}
		if err != nil {
			return followed, err
		}
		if err := r.apply(batch); err != nil {
			return followed, err
		}
		followed, quiet = true, silenceTimeout
	}
}

// checkSilence decides whether a silent watch is dead, and how long to wait on. etcd answers no progress request before the first
// write after the start of a watch, so silence is right while the store does not change. When the store has changed, one more
// progress request follows, because the change may be new; a watch that stays silent is dead.
func (r *reflector) checkSilence(ctx context.Context, watcher etcdstore.Watcher, quiet time.Duration) (time.Duration, error) {
	newest, err := history.Verify(ctx, r.cache.config.Store, r.identity, r.through)
	switch {
	case err != nil:
		return 0, err
	case newest == r.through:
		r.cache.markLive()
		return silenceTimeout, nil
	case quiet < silenceTimeout:
		return 0, fmt.Errorf("%w at revision %d while the store went on to %d", history.ErrSilent, r.through, newest)
	}
	return idleProgressPeriod, watcher.RequestProgress(ctx)
}

// apply brings the mirror to a later revision and publishes the events.
func (r *reflector) apply(batch etcdstore.Batch) error {
	if batch.Through < r.through {
		return fmt.Errorf("%w: it went back from %d to %d", errOutOfOrder, r.through, batch.Through)
	}
	var events []*event
	for _, e := range batch.Events {
		if e.Revision <= r.through {
			return fmt.Errorf("%w: it delivered %d after %d", errOutOfOrder, e.Revision, r.through)
		}
		if change := r.applyEvent(e); change != nil {
			change.received = batch.Received
			events = append(events, change)
		}
		r.since = e.Revision
	}
	r.through = batch.Through
	r.cache.markLive()
	r.cache.encodeEvents(events)
	r.cache.appendBatch(r.mirror.snapshot(r.since, r.through), events)
	return nil
}

// applyEvent takes the previous object from the mirror, because etcd may have compacted it.
func (r *reflector) applyEvent(e etcdstore.Event) *event {
	previous := r.mirror.get(r.cache.path(e.Key))
	var current *Object
	if e.KV != nil {
		current = r.cache.Decode(*e.KV)
		r.mirror.set(current, previous)
	} else if previous != nil {
		r.mirror.remove(previous)
	}
	return newEvent(e.Revision, current, previous)
}
