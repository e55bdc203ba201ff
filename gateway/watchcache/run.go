package watchcache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// fillPage is how many keys one request of a fill asks for: some megabytes of usual objects.
	fillPage = 5000
	// askEvery is how often etcd is asked how far a quiet watch is complete; silence is after how much quiet the watch is
	// taken for dead, because three answers in a row did not come.
	askEvery = 5 * time.Second
	silence  = 15 * time.Second
	// lookBack is how many revisions before the newest one the log begins at: clients that were cut off by a restart resume in
	// it, at no cost to etcd. lookBackTimeout is how long a filled cache waits for the next of these events before it serves
	// without them.
	lookBack        = maxEvents
	lookBackTimeout = time.Second
	// askGap is the least time between two such questions while readers wait for the answer.
	askGap = 100 * time.Millisecond
	// the pauses between two attempts to reach etcd
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

var (
	errSilent   = errors.New("the watch went silent")
	errDisorder = errors.New("the watch broke the order of revisions")
)

// Run keeps the cache up to date until ctx ends; it returns nil then, when all that it started has ended too. What goes
// wrong with etcd is logged and tried again. Run must be called once.
func (c *Cache) Run(ctx context.Context) error {
	defer c.stop()
	defer c.listen()()
	var others sync.WaitGroup
	others.Go(func() { c.inspect(ctx) })
	others.Go(func() { c.archive.run(ctx) })
	others.Go(func() { c.answerQuestions(ctx) })
	defer others.Wait()
	r := &runner{cache: c, mirror: newMirror()}
	pause := firstPause
	for ctx.Err() == nil {
		followed, err := r.session(ctx)
		if ctx.Err() != nil {
			break
		}
		if followed {
			pause = firstPause
		}
		c.mu.Lock()
		c.losses++
		c.mu.Unlock()
		c.config.Logger.Warn("watch cache lost etcd, trying again", "prefix", c.config.Prefix, "error", err, "pause", pause)
		sleep(ctx, pause+rand.N(pause)) // jitter: the caches of many resources do not come back at the same moment
		pause = min(2*pause, maxPause)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// runner is the one writer of a cache.
type runner struct {
	cache   *Cache
	mirror  *mirror
	history uint64             // of the store, when the mirror was filled
	since   etcdstore.Revision // of the last change in the mirror
	through etcdstore.Revision // zero: the mirror must be filled

	published bool // the cache serves what the mirror was filled with
}

// session fills the mirror if that is needed and follows etcd until something goes wrong. followed tells whether anything
// was received.
func (r *runner) session(ctx context.Context) (followed bool, err error) {
	if r.through != 0 {
		if err := r.cache.sameHistory(ctx, r.history); err != nil {
			return false, r.revert(err)
		}
		select {
		case r.cache.reopened <- struct{}{}:
		default:
		}
	}
	if r.through == 0 {
		if err = r.fill(ctx); err != nil {
			return false, fmt.Errorf("fill: %w", err)
		}
		err = r.lookBack(ctx)
	}
	if err == nil {
		followed, err = r.follow(ctx)
	}
	if _, compacted := errors.AsType[*etcdstore.CompactedError](err); compacted || errors.Is(err, errDisorder) || !r.published {
		r.through = 0 // events were lost, or the mirror cannot be trusted or was never served: start from a new state
	}
	return followed, r.revert(err)
}

// revert begins anew after an error that says that the store's history is another one. It returns the error.
func (r *runner) revert(err error) error {
	if errors.Is(err, errUntrue) {
		r.through = 0
		r.cache.forget()
	}
	return err
}

// fill reads the whole state as of one revision. It is published when lookBack has seen that revision's events.
func (r *runner) fill(ctx context.Context) error {
	filled, unordered := newMirror(), []etcdstore.KV(nil)
	history := r.cache.config.Store.History()
	options := etcdstore.ListOptions{Limit: fillPage}
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
	r.history = r.cache.config.Store.History()
	if history != 0 && history != r.history {
		return errUntrue
	}
	r.mirror, r.since, r.through, r.published = filled, options.At, options.At, false
	return nil
}

// follow applies what etcd's watch delivers until it fails. The states before the changes are the mirror's.
func (r *runner) follow(ctx context.Context) (followed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watcher := r.cache.config.Store.Watch(ctx, r.cache.config.Prefix, etcdstore.WatchOptions{After: r.through})
	var asking sync.WaitGroup
	asking.Go(func() {
		if err := r.cache.ask(ctx, watcher, r.history); err != nil {
			cancel(err)
		}
	})
	defer func() {
		if cause := context.Cause(ctx); errors.Is(cause, errUntrue) {
			err = cause
		}
		cancel(nil)
		_ = watcher.Close() // what it has to say, Next said
		asking.Wait()
	}()
	quiet := silence
	for {
		batch, err := next(ctx, watcher, quiet)
		if errors.Is(err, errSilent) {
			if quiet, err = r.explainSilence(ctx, watcher, quiet); err != nil {
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
		followed, quiet = true, silence
	}
}

// lookBack takes the newest events up to the revision that the mirror was filled at into the log, as far as etcd has them, and
// publishes the mirror.
func (r *runner) lookBack(ctx context.Context) error {
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

// lookBackTo is lookBack to a revision, with a watch of its own: that of follow needs no states before the changes, which etcd
// reads for each of them. Where the events do not come the log begins after them, and where a compaction has taken the state
// before one, after that one.
func (r *runner) lookBackTo(ctx context.Context, after etcdstore.Revision) error {
	watcher := r.cache.config.Store.Watch(ctx, r.cache.config.Prefix, etcdstore.WatchOptions{After: after, Previous: true})
	defer func() { _ = watcher.Close() }() // what it has to say, Next said
	var past log                           // as much of it as there is room for
	past.fit(r.mirror.objects.size)
	past.reset(after)
	if after == 1 {
		past.floor = 0 // the first write makes revision 2: that is all there is
	}
	for {
		batch, err := first(ctx, watcher)
		if errors.Is(err, errSilent) {
			r.publish(r.through, nil)
			return nil
		}
		if err != nil {
			return err
		}
		for len(batch.Events) > 0 && batch.Events[0].Revision <= r.through {
			if e := batch.Events[0]; e.PrevLost() {
				past.reset(e.Revision)
			} else if shown := r.cache.pastEvent(e); shown != nil && e.Revision > past.floor {
				past.append(shown)
			}
			batch.Events = batch.Events[1:]
		}
		if batch.Through >= r.through {
			r.publish(past.floor, past.all())
			return r.apply(batch)
		}
	}
}

// first waits for the first batch, but not longer than lookBackTimeout: errSilent then. It asks for progress more than once:
// etcd does not answer before the watch has caught up.
func first(ctx context.Context, watcher etcdstore.Watcher) (batch etcdstore.Batch, err error) {
	for range lookBackTimeout / askGap {
		if err = watcher.RequestProgress(ctx); err != nil {
			return batch, err
		}
		if batch, err = next(ctx, watcher, askGap); !errors.Is(err, errSilent) {
			break
		}
	}
	return batch, err
}

// publish makes the cache serve what the mirror was filled with; newest are the events later than floor.
func (r *runner) publish(floor etcdstore.Revision, newest []*event) {
	r.published = true
	r.cache.hear()
	r.cache.publish(r.mirror.snapshot(r.since, r.through), floor, newest)
}

// next waits for a batch, but not longer than quiet: errSilent then.
func next(ctx context.Context, watcher etcdstore.Watcher, quiet time.Duration) (etcdstore.Batch, error) {
	bounded, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	batch, err := watcher.Next(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return batch, errSilent
	}
	return batch, err
}

// explainSilence finds out what a silence means, and how long to wait on. etcd does not tell the progress of a watch before
// the first write after its start, so in a store where nothing happens silence is right. Where something has happened, the
// watch is asked once more: it may have been a moment ago. If it stays silent, it is dead.
func (r *runner) explainSilence(ctx context.Context, watcher etcdstore.Watcher, quiet time.Duration) (time.Duration, error) {
	newest, err := r.cache.config.Store.Revision(ctx)
	switch {
	case err != nil:
		return 0, err
	case newest < r.through:
		return 0, fmt.Errorf("%w: it is at %d, and was at %d", errUntrue, newest, r.through)
	case newest == r.through:
		r.cache.hear()
		return silence, nil
	case quiet < silence:
		return 0, fmt.Errorf("%w at revision %d while the store went on to %d", errSilent, r.through, newest)
	}
	return askEvery, watcher.RequestProgress(ctx)
}

// apply brings the mirror from one revision to a later one and publishes the difference.
func (r *runner) apply(batch etcdstore.Batch) error {
	if batch.Through < r.through {
		return fmt.Errorf("%w: it went back from %d to %d", errDisorder, r.through, batch.Through)
	}
	var events []*event
	for _, e := range batch.Events {
		if e.Revision <= r.through {
			return fmt.Errorf("%w: it delivered %d after %d", errDisorder, e.Revision, r.through)
		}
		if change := r.change(e); change != nil {
			change.received = batch.Received
			events = append(events, change)
		}
		r.since = e.Revision
	}
	r.through = batch.Through
	r.cache.hear()
	r.cache.append(r.mirror.snapshot(r.since, r.through), events)
	return nil
}

// change applies one event. The state before it is the mirror's: etcd does not know it any more where it has compacted.
func (r *runner) change(e etcdstore.Event) *event {
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

// ask asks etcd how far the watch is complete: now and then so that a quiet watch is known to live, and at once when a reader
// waits, but not more often than every askGap. It returns when ctx ends, or with an error when etcd has another history.
func (c *Cache) ask(ctx context.Context, watcher etcdstore.Watcher, history uint64) error {
	idle := time.NewTicker(askEvery)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case untrue := <-c.suspected:
			if untrue == nil {
				untrue = c.sameHistory(ctx, history)
			}
			if errors.Is(untrue, errUntrue) {
				return untrue
			}
		case <-c.wanted:
		case <-idle.C:
		}
		for {
			if err := watcher.RequestProgress(ctx); err != nil {
				c.config.Logger.Debug("progress request failed", "prefix", c.config.Prefix, "error", err)
			}
			sleep(ctx, askGap)
			if ctx.Err() != nil || !c.awaited() {
				break
			}
		}
	}
}
