package watchcache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

const (
	// fillPage is how many keys one request of a fill asks for: some megabytes of usual objects.
	pageSize = 5000
	// askEvery is how often etcd is asked how far a quiet watch is complete; silence is after how much quiet the watch is
	// taken for dead, because three answers in a row did not come.
	idleProgressPeriod = 5 * time.Second
	silenceTimeout     = 15 * time.Second
	// lookBack is how many revisions before the newest one the log begins at: clients that were cut off by a restart resume in
	// it, at no cost to etcd.
	lookBack = maxEvents
)

var (
	errOutOfOrder = errors.New("the watch broke the order of revisions")
)

// Run keeps the cache up to date until ctx ends; it returns nil then, when all that it started has ended too. What goes
// wrong with etcd is logged and tried again. Run must be called once.
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
		c.mu.Lock()
		c.losses++
		c.mu.Unlock()
		pause := backoff.Next()
		c.config.Logger.Warn("watch cache lost etcd, trying again", "prefix", c.config.Prefix, "error", err, "pause", pause)
		history.Sleep(ctx, pause+rand.N(pause)) // jitter: the caches of many resources do not come back at the same moment
	}
	return nil
}

// runner is the one writer of a cache.
type reflector struct {
	cache    *Cache
	mirror   *mirror
	identity uint64             // of the store's history, when the mirror was filled
	since    etcdstore.Revision // of the last change in the mirror
	through  etcdstore.Revision // zero: the mirror must be filled

	published bool // the cache serves what the mirror was filled with
}

// session fills the mirror if that is needed and follows etcd until something goes wrong. followed tells whether anything
// was received.
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
		err = r.lookBack(ctx)
	}
	if err == nil {
		followed, err = r.watch(ctx)
	}
	if _, compacted := errors.AsType[*etcdstore.CompactedError](err); compacted || errors.Is(err, errOutOfOrder) || !r.published {
		r.through = 0 // events were lost, or the mirror cannot be trusted or was never served: start from a new state
	}
	return followed, r.checkMismatch(err)
}

// revert begins anew after an error that says that the store's history is another one. It returns the error.
func (r *reflector) checkMismatch(err error) error {
	if errors.Is(err, history.ErrMismatch) {
		r.through = 0
		r.cache.invalidate()
	}
	return err
}

// fill reads the whole state as of one revision. It is published when lookBack has seen that revision's events.
func (r *reflector) fill(ctx context.Context) error {
	filled, unordered := newMirror(), []etcdstore.KV(nil)
	identity := r.cache.config.Store.History()
	options := etcdstore.ListOptions{Limit: pageSize}
	for {
		page, err := r.cache.config.Store.List(ctx, r.cache.config.Prefix, options)
		if err != nil {
			return err
		}
		if r.cache.config.Path == nil {
			filled.fill(r.cache.decodeAll(page.KVs))
		} else { // which have an order when all are known
			unordered = append(unordered, page.KVs...)
		}
		if n := len(page.KVs); n > 0 {
			options.After = page.KVs[n-1].Key
		}
		options.At = page.Revision
		if page.Remaining == 0 {
			break
		}
	}
	if len(unordered) > 0 {
		filled.fill(r.cache.decodeAll(unordered))
	}
	r.identity = r.cache.config.Store.History()
	if identity != 0 && identity != r.identity {
		return history.ErrMismatch
	}
	r.mirror, r.since, r.through, r.published = filled, options.At, options.At, false
	return nil
}

// follow applies what etcd's watch delivers until it fails. The states before the changes are the mirror's.
func (r *reflector) watch(ctx context.Context) (followed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watcher := r.cache.config.Store.Watch(ctx, r.cache.config.Prefix, etcdstore.WatchOptions{After: r.through})
	var asking sync.WaitGroup
	asking.Go(func() {
		if err := r.cache.requestProgress(ctx, watcher, r.identity); err != nil {
			cancel(err)
		}
	})
	defer func() {
		if cause := context.Cause(ctx); errors.Is(cause, history.ErrMismatch) {
			err = cause
		}
		cancel(nil)
		_ = watcher.Close() // what it has to say, Next said
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

// lookBack takes the newest events up to the revision that the mirror was filled at into the log, as far as etcd has them, and
// publishes the mirror.
func (r *reflector) lookBack(ctx context.Context) error {
	if r.through == 1 {
		r.publish(0, nil) // before any write
		return nil
	}
	after := max(r.through-r.cache.lookBack, 1)
	err := r.lookBackTo(ctx, after)
	if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); ok && after < compacted.Compacted && compacted.Compacted <= r.through {
		// At least the newest revision: a client may have got only a part of it.
		err = r.lookBackTo(ctx, min(compacted.Compacted, r.through-1))
	}
	return err
}

// lookBackTo is lookBack to a revision. Where the events do not come the log begins after them, and where a compaction has taken the
// state before one, after that one. It reads with a watch of its own, because follow needs no previous values, which cost etcd a
// read each.
func (r *reflector) lookBackTo(ctx context.Context, after etcdstore.Revision) error {
	var recent log // holds as many of the events as there is room for
	recent.resize(r.mirror.objects.size)
	recent.reset(after)
	if after == 1 {
		recent.floor = 0 // the first write makes revision 2, so the log holds everything
	}
	config := r.cache.config
	batch, err := history.Recent(ctx, config.Store, config.Prefix, after, r.through, func(e etcdstore.Event) {
		if e.PrevLost() {
			recent.reset(e.Revision)
		} else if decoded := r.cache.decodeEvent(e); decoded != nil && e.Revision > recent.floor {
			recent.append(decoded)
		}
	})
	switch {
	case errors.Is(err, history.ErrSilent):
		r.publish(r.through, nil)
		return nil
	case err != nil:
		return err
	}
	r.publish(recent.floor, recent.all())
	return r.apply(batch)
}

// publish makes the cache serve what the mirror was filled with; newest are the events later than floor.
func (r *reflector) publish(floor etcdstore.Revision, newest []*event) {
	r.published = true
	r.cache.markLive()
	r.cache.replace(r.mirror.snapshot(r.since, r.through), floor, newest)
}

// explainSilence finds out what a silence means, and how long to wait on. etcd does not tell the progress of a watch before
// the first write after its start, so in a store where nothing happens silence is right. Where something has happened, the
// watch is asked once more: it may have been a moment ago. If it stays silent, it is dead.
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

// apply brings the mirror from one revision to a later one and publishes the difference.
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
	r.cache.appendBatch(r.mirror.snapshot(r.since, r.through), events)
	return nil
}

// change applies one event. The state before it is the mirror's: etcd does not know it any more where it has compacted.
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
